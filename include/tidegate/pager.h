// The pager: weights live in host memory and come into VRAM when a step needs them.
//
//   auto pager = Pager::create(*card, {.budget = 6 * kGiB});
//   auto model = (*pager)->add_model({.name = "net", .weights = {...}});       // host pointers, in order of use
//   auto lease = (*pager)->lease({&block, 1}, stream);                          // resident, or its copy is under way
//   launch(kernel, lease->address(0), stream);                                  // stream order makes it safe
//   lease->release();                                                           // after the last launch that uses it
//
// Thread-safety: every method may be called from any thread that has made the card's context current, except where
// noted. Nothing throws. A stream named in a lease must not be destroyed before forget_stream() or ~Pager.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tidegate/bytes.h"
#include "tidegate/card.h"
#include "tidegate/leave.h"
#include "tidegate/result.h"
#include "tidegate/weight_source.h"

namespace tidegate {

using BlockId = std::uint32_t;
using ModelId = std::uint32_t;
using DeviceAddress = std::uint64_t;
using StreamHandle = void*;  // a CUstream; null is the legacy default stream

enum class Mode {
  kDynamic,  // frames by the driver's VMM calls; the budget may change at any moment
  kStatic,   // one plain allocation, no VMM call; what fits stays, the rest streams through it; the budget is fixed
  kOff,      // every weight in plain allocations; kOutOfMemory when they do not fit
};

// The user's switch, for programs that name no mode themselves.
inline constexpr const char* kModeVariable = "TIDEGATE_MODE";
const char* name_of(Mode mode);  // "dynamic", "static", "off": also the values of the variable
// The variable's mode; kDynamic where it is unset or empty. Errors: kInvalidArgument, which names the values.
Result<Mode> mode_from_environment();

enum class Policy {
  kScatter,  // the default: an evenly scattered set streams
  kTail,     // for comparison: what comes last streams (a watermark)
  kLru,      // for comparison: everything passes through a first-in-first-out arena
};

struct PagerOptions {
  Bytes budget = 0;            // bytes this pager may hold; 0: what the device has free, less the standing allowance
  std::optional<Mode> mode{};  // unset: mode_from_environment()
  Policy policy = Policy::kScatter;
  Bytes frame_bytes = 0;           // 0: 16 MiB on cards under 8 GiB, else 32 MiB (docs/frames.md has the measurement)
  Bytes small_weight = 64 * kKiB;  // weights up to this size of one model share one block and come in one copy
  LeavingOptions leaving{};
};

// What is left free for others where no budget is named: max(512 MiB, 5 % of the card) (DESIGN: standing allowance).
Bytes standing_allowance(Bytes card_total);

struct Weight {
  std::string name;
  Bytes bytes = 0;
  // Readable for the model's lifetime, unchanged; pinned memory copies at link speed. Null: ModelSpec::source has it.
  const void* host = nullptr;
  // Card time of one use relative to the model's other weights (FLOPs, say), if the caller knows it: the first plan,
  // made before anything is measured, is then as good as later ones. 0 for all: by bytes.
  double cost = 0;
};

struct ModelSpec {
  std::string name;
  std::vector<Weight> weights;  // in their expected order of use
  int priority = 0;             // blocks of a lower priority never displace those of a higher one beyond the floor
  std::shared_ptr<WeightSource> source{};  // of the weights without host memory; kept until the model is removed
};

// Where a weight lies: in this block, at this offset. Small weights share a block.
struct WeightPlace {
  BlockId block = 0;
  Bytes offset = 0;
};

class PagerCore;
struct StreamState;
struct Caller;

// The right to use blocks on a stream until released. Move-only; the destructor releases. Not thread-safe itself;
// may be released by another thread than the one that took it.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept : core_(std::exchange(other.core_, nullptr)) { take(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() {
    if (core_ != nullptr) release();
  }

  bool held() const { return core_ != nullptr; }
  std::size_t size() const { return count_; }
  BlockId block(std::size_t index) const { return blocks()[index]; }
  // Valid while the lease is held, for work on the lease's stream or ordered after it.
  DeviceAddress address(std::size_t index) const;

  // Adds blocks without ever waiting for anybody else. kOutOfMemory, all state as it was, if there is no room that can
  // be had at once, or a block's bytes have yet to be read by the model's source.
  Result<void> extend(std::span<const BlockId> blocks);

  // To be called after the last launch that uses the blocks was submitted to the lease's stream. Idempotent.
  void release();

 private:
  friend class PagerCore;
  static constexpr std::size_t kInline = 6;

  const BlockId* blocks() const { return count_ <= kInline ? inline_.data() : spilled_; }
  void take(Lease& other) {
    stream_ = other.stream_;
    caller_ = other.caller_;
    count_ = other.count_;
    step_ = other.step_;
    inline_ = other.inline_;
    spilled_ = std::exchange(other.spilled_, nullptr);
  }

  PagerCore* core_ = nullptr;
  StreamState* stream_ = nullptr;
  Caller* caller_ = nullptr;
  std::uint32_t count_ = 0;
  std::int32_t step_ = -1;  // this lease's place in a pass that is being learned, or -1
  std::array<BlockId, kInline> inline_{};
  BlockId* spilled_ = nullptr;  // owned; used when count_ > kInline
};

struct ModelStats {
  Bytes bytes = 0;             // of all its blocks
  Bytes resident = 0;          // in VRAM now (copies under way included)
  Bytes needed = 0;            // the plan's smallest sufficient resident set
  Bytes ring = 0;              // the plan's room for streamed blocks
  Bytes largest_streamed = 0;  // the largest block that the plan streams
  Bytes copied = 0;            // host to device so far
  std::uint64_t plan_generation = 0;
  double predicted_pass_seconds = 0;  // by the plan's own model, 0 before compute times were measured
};

struct PagerStats {
  Bytes budget = 0;  // as asked
  Bytes held = 0;    // in frames, now
  Bytes peak_held = 0;
  Bytes busy = 0;         // in frames with bytes that are leased, being copied or still used by the card
  Bytes floor = 0;        // the least budget accepted: not reclaimable
  Bytes reclaimable = 0;  // could be given back at no cost to the pass time
  Bytes ceiling = 0;      // what the driver was found to give; equals the budget until it refused
  Bytes frame_bytes = 0;
  std::uint64_t copies = 0;         // host-to-device copy calls
  std::uint64_t moves = 0;          // device-to-device moves (compaction)
  std::uint64_t evictions = 0;      // blocks dropped
  std::uint64_t mapping_calls = 0;  // create, map, set access, unmap, release
  std::uint64_t waits = 0;          // leases that had to wait for their copy to be issued
  std::uint64_t replans = 0;
  std::uint64_t retries = 0;  // driver calls repeated after NOT_READY
  LeavingStats leaving;
};

class Pager {
 public:
  // The card must outlive the pager. Errors: kBelowFloor, kOutOfMemory, kDriver, kInvalidArgument.
  static Result<std::unique_ptr<Pager>> create(Card& card, PagerOptions options);
  ~Pager();  // waits for the card to finish with its blocks; no lease may be held
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  // Registers a model; nothing is copied yet (Mode::kOff: all of it is). The host memory must stay. Errors:
  // kInvalidArgument (empty or zero-sized weight, neither memory nor a source), kBelowFloor (a weight larger than the
  // budget allows), kOutOfMemory (Mode::kOff), those of WeightSource::read.
  Result<ModelId> add_model(ModelSpec spec);
  // Forgets a model; no lease on it may be held. Its bytes are free once the card has finished with them.
  Result<void> remove_model(ModelId model);
  WeightPlace place(ModelId model, std::size_t weight) const;
  Bytes block_bytes(BlockId block) const;

  // Grants all blocks or none, and returns once their copies have been issued; work submitted to `stream` afterwards
  // runs after they have arrived. Waits for room where it must (never for the card). Errors: kBelowFloor (the set can
  // never fit), kWouldDeadlock (only leases of waiting callers, this one included, could make room), kCapturing (a
  // copy would be needed and the stream captures a graph), kDriver, those of the model's WeightSource: the pager goes
  // on, and another lease tries again.
  Result<Lease> lease(std::span<const BlockId> blocks, StreamHandle stream);

  // Marks the start of a pass over a model's weights. Optional: a pass is also recognised by its first block coming
  // round again.
  void begin_pass(ModelId model);
  // The caller's step is over (a layer group, a pass): an event is recorded on the stream so that what was released on
  // it can be reused early. Optional.
  void end_step(StreamHandle stream);

  // Changes the budget. When it returns after lowering, only what is leased, being copied or still used by the card
  // exceeds the new budget, and that excess only falls. Where the system pages (LeavingOptions), frames whose proof is
  // not there yet count as still used, and the call returns after `deadline_ms` at the latest; 0: the options'. Errors:
  // kBelowFloor, names the floor; kInvalidArgument in Mode::kStatic and kOff.
  Result<void> set_budget(Bytes budget, std::uint32_t deadline_ms = 0);

  // The stream is about to be destroyed, or is no longer used with this pager.
  void forget_stream(StreamHandle stream);
  // The caller has synchronised the whole context: everything released before the call is known to be complete.
  void declare_idle();

  PagerStats stats() const;
  ModelStats model_stats(ModelId model) const;
  // Verifies every structure against every other; the text names the first violation. For tests and debugging.
  Result<void> check_invariants() const;

 private:
  explicit Pager(std::unique_ptr<PagerCore> core);
  std::unique_ptr<PagerCore> core_;
};

}  // namespace tidegate
