// The pager's heart: leases, the copy task, the frame task and the plan task of one card.
//
// Locks, in the order in which they may nest: mutex_ (everything marked so), uses_mutex_ (Block::more_uses), and the
// leaf locks inside Streams and Arrivals. The lease of resident blocks takes none. Driver calls under mutex_ are
// submissions, which do not block; mapping calls are made without it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/executor.h"
#include "src/driver/driver.h"
#include "src/pager/arrivals.h"
#include "src/pager/block.h"
#include "src/pager/canary.h"
#include "src/pager/frames.h"
#include "src/pager/leave.h"
#include "src/pager/model.h"
#include "src/pager/space.h"
#include "src/pager/streams.h"
#include "tidegate/pager.h"

namespace tidegate {

using pager::Block;
using pager::Model;
using pager::Piece;
using pager::PlanInput;
using pager::UseSet;

// How many leases a thread holds. That thread counts without a locked instruction; others, who may release for it,
// count apart.
class HeldCount {
 public:
  int load() const { return own_.load(std::memory_order_relaxed) - by_others_.load(std::memory_order_relaxed); }
  void add_own(int change) { own_.store(own_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed); }
  void release_by_other() { by_others_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<int> own_{0};
  std::atomic<int> by_others_{0};
};

// One thread (or virtual thread) that uses the pager. Each on lines of its own: it is written by every lease. (128, not
// 64: processors fetch lines in pairs.)
struct alignas(128) Caller {
  std::uint64_t id = 0;
  HeldCount held;
  int waiting = 0;  // guarded by PagerCore::mutex_
};

class PagerCore {
 public:
  PagerCore(Card& card, PagerOptions options);
  ~PagerCore();
  Result<void> open();

  Result<ModelId> add_model(ModelSpec spec);
  Result<void> remove_model(ModelId model);
  WeightPlace place(ModelId model, std::size_t weight);
  Bytes block_bytes(BlockId block) { return block_at(block).bytes; }
  DeviceAddress address(BlockId block) { return block_at(block).address; }

  Result<Lease> lease(std::span<const BlockId> blocks, StreamHandle stream);
  Result<void> extend(Lease& lease, std::span<const BlockId> blocks);
  void release(Lease& lease);

  void begin_pass(ModelId model);
  void end_step(StreamHandle stream);
  Result<void> set_budget(Bytes budget, std::uint32_t deadline_ms);
  void forget_stream(StreamHandle stream);
  void declare_idle();

  PagerStats stats();
  ModelStats model_stats(ModelId model);
  Result<void> check_invariants();

 private:
  using Nanos = base::Nanos;

  // A task of the pager: step() forwards to a member and makes the card current on its thread first.
  class CoreTask final : public base::Task {
   public:
    CoreTask(PagerCore& core, const char* name, Nanos (PagerCore::*work)(Nanos))
        : core_(core), name_(name), work_(work) {}
    const char* name() const override { return name_; }
    Nanos step(Nanos now) override;

   private:
    PagerCore& core_;
    const char* name_;
    Nanos (PagerCore::*work_)(Nanos);
    bool prepared_ = false;
  };

  // A lease that waits for its turn.
  struct Request {
    std::span<const BlockId> blocks;
    StreamState* stream = nullptr;
    Caller* caller = nullptr;
    Bytes bytes = 0;  // of all its blocks
    std::optional<Error> error;
    bool granted = false;
    int passed_over = 0;
  };

  enum class Urgency {
    kPrefetch,  // takes only what the plan gives up at this point
    kDemand,    // somebody waits: anything that is not leased makes room
  };

  // Why a fetch did not happen.
  enum class Fetch {
    kIssued,
    kNoRoom,
    kLater,
    kComing,      // its bytes are being read
    kUnreadable,  // they cannot be: unreadable_ says why
    kFailed,
  };

  // Frames that leave together.
  struct Departure {
    std::vector<std::size_t> slots;  // kReleasing, not released yet
    bool active = false;             // also without slots: a canary on its own
    pager::LeaveStage stage = pager::LeaveStage::kGathered;
    bool sent = false;  // the canary
    bool silent_since_drain = false;
    bool gate_spent = false;
    std::optional<Bytes> evicted{};  // Demotion::evicted when the canary was sent, if nothing was demoted then
    bool forced = false;
    int attempts = 0;  // to send it
    std::uint64_t canary = 0;
    Nanos send_at = 0;
    Nanos unmapped_at = 0;
    Nanos gate_closed_at = 0;
  };

  // Bytes of a source that a copy reads.
  struct Borrowed {
    std::shared_ptr<WeightSource> source;
    std::uint32_t weight = 0;
    std::uint64_t sequence = 0;  // of the copy
  };

  // core.cpp
  Block& block_at(BlockId id) const { return chunks_[id / kChunk][id % kChunk]; }
  bool known(BlockId id) const { return id < block_count_.load(std::memory_order_acquire); }
  Caller& this_caller();
  bool is_this_caller(const Caller& caller) const;
  Model* model_at(ModelId id) { return id < models_.size() && !models_[id]->removed ? models_[id].get() : nullptr; }
  Result<void> pack_small(ModelSpec& spec, Model& model);
  Bytes floor_bytes() const;
  void pause(Nanos duration);  // parks the caller about that long
  void free_host(void* pack);

  // core_lease.cpp
  bool pin_resident(std::span<const BlockId> blocks, StreamState& stream, cu::Status& status);
  void unpin(std::span<const BlockId> blocks);
  Lease make_lease(std::span<const BlockId> blocks, StreamState& stream, Caller& caller);
  Result<Lease> lease_slow(std::span<const BlockId> blocks, StreamState& stream, Caller& caller);
  void note_release(Block& block, StreamState& stream);
  void released_ring_blocks(const Lease& lease);
  std::int32_t learn_request(std::span<const BlockId> blocks, StreamState& stream);
  void start_learning(Model& model);
  void finish_learning(Model& model);

  // core_copy.cpp: under mutex_
  Nanos copy_step(Nanos now);
  bool serve_requests(bool& retry);
  Fetch try_grant(Request& request, Urgency urgency);
  void refuse_deadlocked();
  void prefetch(Model& model, bool& retry);
  bool prefetch_resident(Model& model, std::uint64_t from, bool& retry);
  bool move_block(BlockId id, Bytes to);
  bool relocate(BlockId id, Bytes avoid, Bytes avoid_bytes);
  void settle_misplaced(Model& model, bool& retry);
  Fetch fetch(BlockId id, Urgency urgency);
  Fetch outcome_of(cu::Status copied);
  Error too_large(Bytes set, Bytes room) const;
  Error wait_failed(cu::Status status);
  Bytes planned_place(const Model& model, const Block& block) const;
  bool claimable(Bytes offset, Bytes bytes, const Model& model, Urgency urgency, BlockId moving) const;
  bool evict_range(Bytes offset, Bytes bytes);
  Bytes cheapest_place(const Model& model, Bytes bytes, Urgency urgency) const;
  bool evict(BlockId id);
  UseSet take_uses(Block& block);
  cu::Status issue_copy(Block& block, BlockId id, Bytes offset);
  cu::Status wait_for_pieces(const std::vector<Piece>& pieces);
  void became_resident(Block& block, BlockId id, Bytes offset, std::uint64_t sequence);
  void activate(Model& model);
  void advance_cursor(Model& model, std::uint32_t index);

  // core_source.cpp: under mutex_
  Fetch supply(BlockId id, Urgency urgency);
  void read_ahead(Model& model);
  const std::byte* bytes_of(Model& model, std::uint32_t index, std::uint64_t sequence);
  void give_back_bytes(bool all);

  // core_whole.cpp: under mutex_
  Result<void> load_whole(Model& model);
  Result<void> read_whole(Model& model, std::uint32_t index, DeviceAddress to);

  // core_frames.cpp
  Nanos frame_step(Nanos now);
  Nanos rest_of_frame_step(Nanos now);
  void give_up_stuck();
  void plan_frames();  // under mutex_: condemns and wants
  Nanos mapped(std::size_t slot, cu::Status status);
  void doom_frame(std::size_t slot);
  void empty_frame(std::size_t slot);
  void close_open_uses(std::size_t slot);
  bool frame_is_idle(std::size_t slot);
  bool frame_is_busy(std::size_t slot);
  std::size_t wanted_frames() const;

  // core_leave.cpp: under mutex_
  bool departing() const { return departure_.active || !departure_.slots.empty(); }
  std::size_t batch_frames() const;
  bool gather_batch(Nanos now, bool& waiting);
  Nanos leave_step(Nanos now);
  Nanos leave_at_once();
  Nanos touch_batch(Nanos now);
  Nanos unmap_batch(Nanos now);
  Nanos send_canary(Nanos now);
  Nanos release_one(Nanos now, bool exposure);
  Nanos leaving_failed(cu::Status status);
  void close_gate(Nanos now);
  void open_gate(Nanos now);
  bool is_silent();
  void begin_drain(Nanos now);
  std::size_t quarantined() const;
  bool clean(std::size_t slot) const { return frames_.clean_after(slot) <= canaries_passed_; }
  void leave_for_good();  // takes mutex_

  // core_plan.cpp
  Nanos plan_step(Nanos now);
  void want_replan(Model& model);
  void partition();  // under mutex_: gives each priority class its part of the arena
  PlanInput plan_input(const Model& model) const;
  Bytes class_room(const Model& model) const;
  void install(Model& model, pager::Plan plan);
  void index_uses(Model& model);
  void adopt_order(Model& model, std::vector<pager::PlanUse> uses);

  void fail(Error error);

  Card& card_;
  driver::Driver& driver_;
  base::Executor& executor_;
  const PagerOptions options_;
  double link_bytes_per_ns_ = 0;  // measured at open
  Nanos copy_cost_ = 0;

  static constexpr std::size_t kChunk = 1024;
  static constexpr std::size_t kMostChunks = 4096;
  std::unique_ptr<std::unique_ptr<Block[]>[]> chunks_;
  std::atomic<BlockId> block_count_{0};

  // Whether a lease must take the slow path (a pass is being learned) or leave the fast path's granting to the oldest
  // request (it starves); and whether a release must wake the tasks.
  std::atomic<int> learning_{0};
  std::atomic<bool> gate_{false};
  std::atomic<bool> attention_{false};

  pager::Streams streams_;
  pager::Arrivals arrivals_;

  base::Mutex uses_mutex_;
  base::Mutex callers_mutex_;
  std::vector<std::unique_ptr<Caller>> callers_;
  const std::uint64_t identity_;

  mutable base::Mutex mutex_;  // guards everything below
  pager::Frames frames_;
  pager::Canary canary_;
  std::optional<pager::Space> space_;
  std::vector<std::unique_ptr<pager::Model>> models_;
  pager::Model* active_ = nullptr;
  std::deque<Request*> requests_;
  base::WaitPoint granted_;
  base::WaitPoint frames_changed_;
  Bytes budget_ = 0;
  Bytes ceiling_ = 0;
  Bytes largest_block_ = 0;
  Bytes largest_set_ = 0;
  Bytes registered_ = 0;
  Nanos retry_mapping_at_ = 0;
  int mapping_attempts_ = 0;
  int budgets_being_set_ = 0;
  bool proven_leaving_ = false;  // LeavingOptions::How, decided at open
  bool leaving_gate_ = false;    // gate_ is closed for the sake of frames that leave
  Departure departure_;
  Nanos leave_again_at_ = 0;
  Nanos budget_lowered_at_ = 0;
  Nanos leaving_deadline_ = 0;  // from then on
  std::uint64_t canaries_sent_ = 0;
  std::uint64_t canaries_passed_ = 0;
  static constexpr std::size_t kNoSlot = ~std::size_t{0};
  std::size_t stuck_slot_ = kNoSlot;  // mapped, and its access was refused so far
  std::optional<Error> failure_;
  std::vector<cu::DevicePtr> plain_allocations_;  // Mode::kOff, by model
  std::vector<Bytes> plain_bytes_;
  PagerStats counters_;
  std::deque<Borrowed> borrowed_;  // in the order of their copies
  std::optional<Error> unreadable_;
  std::uint64_t changes_ = 1;  // of what may be evicted: releases, evictions

  CoreTask copy_task_{*this, "copy", &PagerCore::copy_step};
  CoreTask frame_task_{*this, "frames", &PagerCore::frame_step};
  CoreTask plan_task_{*this, "plan", &PagerCore::plan_step};
  bool tasks_running_ = false;
};

}  // namespace tidegate
