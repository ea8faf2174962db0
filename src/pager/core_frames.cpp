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
  if (options_.mode != Mode::kDynamic || failure_) {
    mutex_.unlock();
    return base::kNever;
  }
  streams_.poll_all();
  arrivals_.poll();
  plan_frames();
  // One mapping call a step: budgets, leases and copies go on in between.
  std::size_t release = frames_.slots();
  std::size_t waiting = 0;
  for (std::size_t slot = frames_.slots(); slot-- > 0;) {
    const bool half_gone = frames_.state(slot) == State::kReleasing;
    if (frames_.state(slot) != State::kCondemned && !half_gone) continue;
    if (!half_gone) {
      empty_frame(slot);
      close_open_uses(slot);
    }
    if ((half_gone || frame_is_idle(slot)) && now >= retry_release_at_) {
      if (release == frames_.slots()) release = slot;
    } else {
      ++waiting;
    }
  }
  if (release != frames_.slots()) {
    const Bytes frame = frames_.frame_bytes();
    space_->settle(release * frame, frame, [&](const pager::Segment& segment) {
      return segment.copy <= arrivals_.done() && streams_.complete(segment.uses);
    });
    frames_.set_state(release, State::kReleasing);
    mutex_.unlock();
    const cu::Status status = frames_.unmap(release);
    mutex_.lock();
    // Half gone it cannot be taken into use again: it stays kReleasing until the rest has worked.
    const State left = frames_.unmapped(release) ? State::kReleasing : State::kCondemned;
    frames_.set_state(release, status == cu::kSuccess ? State::kUnmapped : left);
    if (pager::is_transient(status)) {
      ++counters_.retries;
      retry_release_at_ = executor_.now() + base::kMillisecond;
    } else if (status != cu::kSuccess) {
      fail(driver::driver_error(driver_, status, "giving a frame back"));
    }
    executor_.notify_all(frames_changed_);
    mutex_.unlock();
    return executor_.now();
  }
  const std::size_t want = wanted_frames();
  const std::size_t allowed = std::min(budget_, ceiling_) / frames_.frame_bytes();
  if (stuck_slot_ != kNoSlot && (stuck_slot_ >= want || frames_.held() > allowed)) {  // not wanted any more
    const std::size_t stuck = std::exchange(stuck_slot_, kNoSlot);
    mapping_attempts_ = 0;
    frames_.abandon(stuck);
    frames_.set_state(stuck, State::kUnmapped);
    executor_.notify_all(frames_changed_);
  }
  std::size_t slot = stuck_slot_;
  if (slot == kNoSlot && frames_.held() < allowed) {
    for (slot = 0; slot < want && frames_.state(slot) != State::kUnmapped;) ++slot;
    if (slot >= want) slot = kNoSlot;
  }
  Nanos next = waiting > 0 ? now + kPoll : base::kNever;
  if (waiting == 0 && requests_.empty()) attention_.store(false);
  if (slot == kNoSlot) {
    mutex_.unlock();
    return next;
  }
  if (now < retry_mapping_at_) {
    next = std::min(next, retry_mapping_at_);
    mutex_.unlock();
    return next;
  }
  frames_.set_state(slot, State::kMapping);
  mutex_.unlock();
  const cu::Status status = frames_.map(slot);
  mutex_.lock();
  next = mapped(slot, status);
  mutex_.unlock();
  executor_.wake(copy_task_);
  return next;
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
  if (stuck_slot_ == slot && status == cu::kNotReady) frames_.abandon(slot);
  stuck_slot_ = kNoSlot;
  mapping_attempts_ = 0;
  frames_.set_state(slot, State::kUnmapped);
  // Nothing more is to be had: run with what there is, until the budget is set anew.
  ceiling_ = frames_.held_bytes();
  partition();
  executor_.notify_all(frames_changed_);
  return now;
}

Result<void> PagerCore::set_budget(Bytes budget) {
  if (options_.mode != Mode::kDynamic) {
    return Error{Errc::kInvalidArgument, "the budget is fixed in this mode; use mode dynamic to change it"};
  }
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
  budget_ = budget;
  ceiling_ = budget;
  streams_.poll_all();
  arrivals_.poll();
  partition();
  plan_frames();
  executor_.wake(frame_task_);
  const auto owed = [this] {  // idle frames that have still to go
    for (std::size_t slot = 0; slot < frames_.slots(); ++slot) {
      const State state = frames_.state(slot);
      if (state == State::kReleasing || state == State::kMapping) return true;
      if (state == State::kCondemned && frame_is_idle(slot)) return true;
    }
    return false;
  };
  ++budgets_being_set_;
  while (!failure_ && frames_.held_bytes() > budget_ && owed()) {
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
