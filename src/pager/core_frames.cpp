#include <algorithm>

#include <fmt/format.h>

#include "src/driver/errors.h"
#include "src/pager/core.h"
#include "src/pager/insist.h"

namespace tidegate {

using State = pager::Frames::State;

namespace {
constexpr base::Nanos kPoll = 50 * base::kMicrosecond;  // while frames wait for events
constexpr int kMostMappingAttempts = 100;               // NOT_READY: wddm-model R-10
}  // namespace

// In whole frames: what the budget and the driver allow, and no more than the models can fill.
std::size_t PagerCore::wanted_frames() const {
  const Bytes frame = frames_.frame_bytes();
  const std::size_t allowed = std::min(budget_, ceiling_) / frame;
  const std::size_t useful = static_cast<std::size_t>(round_up(std::max<Bytes>(registered_, 1), frame) / frame);
  return std::min({allowed, useful, frames_.slots()});
}

// Under mutex_. Brings what is condemned in line with what is wanted: the wanted frames are a prefix of the arena.
void PagerCore::plan_frames() {
  if (options_.mode != Mode::kDynamic) return;
  const std::size_t want = wanted_frames();
  std::size_t keep = 0;       // mapped or being mapped, not condemned
  std::size_t held_back = 0;  // condemned and busy
  for (std::size_t slot = 0; slot < frames_.slots(); ++slot) {
    if (slot < want && frames_.state(slot) == State::kCondemned) {  // wanted again before it went
      frames_.set_state(slot, State::kMapped);
      const Bytes frame = frames_.frame_bytes();
      space_->all_of(slot * frame, frame, [&](Bytes at, const pager::Segment& segment) {
        if (segment.block != pager::kNoBlock && frames_.usable(at, segment.bytes)) {
          block_at(segment.block).state.fetch_and(~pager::kDoomed);
        }
        return true;
      });
    }
    if (slot >= want && frames_.state(slot) == State::kMapped) doom_frame(slot);
    if (frames_.state(slot) == State::kMapped || frames_.state(slot) == State::kMapping) ++keep;
    if (frames_.state(slot) == State::kCondemned && frame_is_busy(slot)) ++held_back;
  }
  // I4: while busy frames outside the prefix exceed the budget, idle ones inside it make up for them.
  const std::size_t allowed = budget_ / frames_.frame_bytes();
  for (std::size_t slot = std::min(want, frames_.slots()); slot-- > 0 && keep + held_back > allowed;) {
    if (frames_.state(slot) != State::kMapped || frame_is_busy(slot)) continue;
    doom_frame(slot);
    --keep;
  }
}

// Nothing new comes to the frame, and what nobody leases leaves it.
void PagerCore::doom_frame(std::size_t slot) {
  frames_.set_state(slot, State::kCondemned);
  attention_.store(true);
  empty_frame(slot);
}

void PagerCore::empty_frame(std::size_t slot) {
  const Bytes frame = frames_.frame_bytes();
  std::vector<BlockId> tenants;
  space_->all_of(slot * frame, frame, [&](Bytes, const pager::Segment& segment) {
    if (segment.block != pager::kNoBlock) tenants.push_back(segment.block);
    return true;
  });
  for (const BlockId tenant : tenants) {
    if (!evict(tenant)) block_at(tenant).state.fetch_or(pager::kDoomed);
  }
}

// I1: no block lies in it, and every use of its bytes and every copy to or from them is known to be over.
bool PagerCore::frame_is_idle(std::size_t slot) {
  const Bytes frame = frames_.frame_bytes();
  return space_->all_of(slot * frame, frame, [&](Bytes, const pager::Segment& segment) {
    return segment.block == pager::kNoBlock && segment.copy <= arrivals_.done() && streams_.complete(segment.uses);
  });
}

// Whether bytes of it are leased, being copied or retiring.
bool PagerCore::frame_is_busy(std::size_t slot) {
  const Bytes frame = frames_.frame_bytes();
  return !space_->all_of(slot * frame, frame, [&](Bytes, const pager::Segment& segment) {
    if (segment.block == pager::kNoBlock) {
      return segment.copy <= arrivals_.done() && streams_.complete(segment.uses);
    }
    const Block& block = block_at(segment.block);
    if (block.leased() || block.arrival > arrivals_.done()) return false;
    const std::uint64_t word = block.last_use.load(std::memory_order_acquire);
    if (word != 0 && !streams_.complete(pager::unpack(word))) return false;
    const base::Lock lock(uses_mutex_);
    return std::all_of(block.more_uses.begin(), block.more_uses.end(),
                       [this](pager::Use use) { return streams_.complete(use); });
  });
}

// Epochs that nobody closes (their caller has gone quiet) are closed here, so that the frame's uses can end.
void PagerCore::close_open_uses(std::size_t slot) {
  const Bytes frame = frames_.frame_bytes();
  space_->all_of(slot * frame, frame, [&](Bytes, const pager::Segment& segment) {
    if (segment.block == pager::kNoBlock) segment.uses.for_each([&](pager::Use use) { streams_.close_if_open(use); });
    return true;
  });
}

base::Nanos PagerCore::frame_step(Nanos now) {
  mutex_.lock();
  Nanos next = base::kNever;
  if (options_.mode == Mode::kDynamic && !failure_) next = departing() ? leave_step(now) : rest_of_frame_step(now);
  mutex_.unlock();
  return next;
}

// Under mutex_. Nothing leaves at the moment: a batch is gathered, or else a frame is mapped.
base::Nanos PagerCore::rest_of_frame_step(Nanos now) {
  streams_.poll_all();
  arrivals_.poll();
  plan_frames();
  bool waiting = false;
  if (gather_batch(now, waiting)) return leave_step(now);
  if (!waiting && requests_.empty()) attention_.store(false);
  const std::size_t want = wanted_frames();
  const std::size_t allowed = std::min(budget_, ceiling_) / frames_.frame_bytes();
  const bool unwanted = stuck_slot_ != kNoSlot && (stuck_slot_ >= want || frames_.held() > allowed);
  if (unwanted && (!proven_leaving_ || mapping_attempts_ > 1)) {  // H-9: never after a single refusal
    give_up_stuck();
    return now;
  }
  std::size_t slot = stuck_slot_;
  if (slot == kNoSlot && frames_.held() < allowed) {
    for (slot = 0; slot < want && frames_.state(slot) != State::kUnmapped;) ++slot;
    if (slot >= want) slot = kNoSlot;
  }
  if (proven_leaving_ && options_.leaving.quarantine && options_.leaving.drain) {
    const auto most =
        static_cast<std::size_t>(options_.leaving.quarantine_share * static_cast<double>(frames_.slots()));
    if ((slot != kNoSlot && !clean(slot)) || quarantined() > most) {
      begin_drain(now);
      return now;
    }
  }
  Nanos next = waiting ? std::max(now + kPoll, leave_again_at_) : base::kNever;
  if (slot == kNoSlot) return next;
  if (now < retry_mapping_at_) return std::min(next, retry_mapping_at_);
  frames_.set_state(slot, State::kMapping);
  mutex_.unlock();
  const cu::Status status = frames_.map(slot);
  mutex_.lock();
  next = mapped(slot, status);
  executor_.wake(copy_task_);
  return next;
}

// Under mutex_. The frame whose access was refused so far goes; where that needs proof, as those that were in use do.
void PagerCore::give_up_stuck() {
  const std::size_t stuck = std::exchange(stuck_slot_, kNoSlot);
  mapping_attempts_ = 0;
  if (proven_leaving_ && frames_.half_mapped(stuck)) {
    frames_.set_state(stuck, State::kReleasing);
    departure_.slots.push_back(stuck);
    return;
  }
  frames_.abandon(stuck);
  frames_.set_state(stuck, State::kUnmapped);
  executor_.notify_all(frames_changed_);
}

// Under mutex_: what a mapping attempt came to.
base::Nanos PagerCore::mapped(std::size_t slot, cu::Status status) {
  const Nanos now = executor_.now();
  if (status == cu::kSuccess) {
    frames_.set_state(slot, slot < wanted_frames() ? State::kMapped : State::kCondemned);
    stuck_slot_ = kNoSlot;
    mapping_attempts_ = 0;
    plan_frames();
    executor_.notify_all(frames_changed_);
    return now;
  }
  ++counters_.retries;
  if (cu::is_sticky(status)) fail(driver::driver_error(driver_, status, "mapping a frame"));
  if (status == cu::kNotReady && ++mapping_attempts_ < kMostMappingAttempts) {
    // The OS could not make it resident yet (wddm-model W-41): keep what there is and come back.
    stuck_slot_ = slot;
    retry_mapping_at_ = now + (base::kMillisecond << std::min(mapping_attempts_ - 1, 6));
    return retry_mapping_at_;
  }
  stuck_slot_ = slot;
  give_up_stuck();
  // Nothing more is to be had: run with what there is, until the budget is set anew.
  ceiling_ = frames_.held_bytes() - departure_.slots.size() * frames_.frame_bytes();
  partition();
  executor_.notify_all(frames_changed_);
  return now;
}

Result<void> PagerCore::set_budget(Bytes budget, std::uint32_t deadline_ms) {
  if (options_.mode != Mode::kDynamic) {
    return Error{Errc::kInvalidArgument, "the budget is fixed in this mode; use mode dynamic to change it"};
  }
  if (deadline_ms == 0) deadline_ms = options_.leaving.deadline_ms;
  mutex_.lock();
  const Bytes floor = floor_bytes();
  if (budget / frames_.frame_bytes() * frames_.frame_bytes() < std::max(floor, frames_.frame_bytes())) {
    Error error{
        Errc::kBelowFloor,
        fmt::format("a budget of {} bytes is below the floor of {} bytes (the largest lease of {} and one block "
                    "of {} in flight, in frames of {})",
                    budget, std::max(floor, frames_.frame_bytes()), std::max(largest_set_, largest_block_),
                    largest_block_, frames_.frame_bytes())};
    mutex_.unlock();
    return error;
  }
  if (budget < budget_) {
    budget_lowered_at_ = executor_.now();
    leaving_deadline_ = deadline_ms * base::kMillisecond;
    leave_again_at_ = 0;
  }
  budget_ = budget;
  ceiling_ = budget;
  streams_.poll_all();
  arrivals_.poll();
  partition();
  plan_frames();
  executor_.wake(frame_task_);
  const auto owed = [this] {  // idle frames that have still to go
    if (!departure_.slots.empty()) return true;
    for (std::size_t slot = 0; slot < frames_.slots(); ++slot) {
      const State state = frames_.state(slot);
      if (state == State::kReleasing || state == State::kMapping) return true;
      if (state == State::kCondemned && frame_is_idle(slot)) return true;
    }
    return false;
  };
  ++budgets_being_set_;
  // Frames whose proof takes longer than that count as retiring (I4).
  const Nanos deadline = proven_leaving_ ? executor_.now() + deadline_ms * base::kMillisecond : base::kNever;
  while (!failure_ && frames_.held_bytes() > budget_ && executor_.now() < deadline && owed()) {
    executor_.wait(mutex_, frames_changed_, executor_.now() + 10 * base::kMillisecond);
  }
  --budgets_being_set_;
  const std::optional<Error> failure = failure_;
  mutex_.unlock();
  executor_.wake(frame_task_);
  executor_.wake(copy_task_);
  if (failure) return *failure;
  return {};
}

}  // namespace tidegate
