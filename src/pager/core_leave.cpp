// How frames leave: a batch at a time, by the card's policy (src/pager/leave.h decides, this carries it out).
#include <algorithm>

#include "src/driver/errors.h"
#include "src/pager/core.h"
#include "src/pager/insist.h"

namespace tidegate {

using pager::LeaveAction;
using pager::LeaveStage;
using State = pager::Frames::State;

namespace {
constexpr base::Nanos kPoll = 50 * base::kMicrosecond;  // while events are awaited
constexpr base::Nanos kAgain = base::kMillisecond;      // between two canaries of one batch
constexpr std::size_t kLinuxBatch = 64;                 // frames between two looks at all slots
}  // namespace

std::size_t PagerCore::batch_frames() const {
  if (!proven_leaving_) return kLinuxBatch;
  return std::max<std::size_t>(1, options_.leaving.batch / frames_.frame_bytes());
}

// Under mutex_. Takes idle frames that have to go into the batch; they cannot be taken into use again. True if any.
bool PagerCore::gather_batch(Nanos now, bool& waiting) {
  for (std::size_t slot = frames_.slots(); slot-- > 0;) {
    if (frames_.state(slot) != State::kCondemned) continue;
    empty_frame(slot);
    close_open_uses(slot);
    if (now < leave_again_at_ || departure_.slots.size() >= batch_frames() || !frame_is_idle(slot)) {
      waiting = true;
      continue;
    }
    const Bytes frame = frames_.frame_bytes();
    space_->settle(slot * frame, frame, [&](const pager::Segment& segment) {
      return segment.copy <= arrivals_.done() && streams_.complete(segment.uses);
    });
    frames_.set_state(slot, State::kReleasing);
    departure_.slots.push_back(slot);
  }
  return departing();
}

void PagerCore::close_gate(Nanos now) {
  departure_.gate_closed_at = now;
  leaving_gate_ = true;
  gate_.store(true);
  ++counters_.leaving.gates;
}

void PagerCore::open_gate(Nanos now) {
  if (!leaving_gate_) return;
  leaving_gate_ = false;
  gate_.store(false);  // the next look at the requests closes it again if one of them starves
  counters_.leaving.gate_ns += static_cast<std::uint64_t>(now - departure_.gate_closed_at);
  executor_.wake(copy_task_);
}

// Under mutex_. With the gate closed this stays true: without a lease nobody passes it, and the copy task stands still.
bool PagerCore::is_silent() {
  arrivals_.poll();
  streams_.poll_all();
  if (arrivals_.done() != arrivals_.issued() || arrivals_.unrecorded() || !streams_.silent()) return false;
  const base::Lock lock(callers_mutex_);
  return std::all_of(callers_.begin(), callers_.end(), [](const auto& caller) { return caller->held.load() == 0; });
}

// Under mutex_, which it releases around driver calls. One step of the batch that leaves.
base::Nanos PagerCore::leave_step(Nanos now) {
  if (!proven_leaving_) return leave_at_once();
  Departure& departure = departure_;
  const std::optional<Demotion> demotion = card_.demotion();
  pager::LeaveSituation situation{.stage = departure.stage,
                                  .undisturbed = demotion && departure.evicted == demotion->evicted,
                                  .told = demotion.has_value(),
                                  .gate_closed = leaving_gate_,
                                  .gate_spent = departure.gate_spent,
                                  .silent_since_drain = departure.silent_since_drain,
                                  .gate_for = leaving_gate_ ? now - departure.gate_closed_at : 0,
                                  .draining_for = now - departure.unmapped_at,
                                  .since_asked = frames_.held_bytes() > budget_ ? now - budget_lowered_at_ : 0,
                                  .deadline = leaving_deadline_};
  if (departure.stage == LeaveStage::kTouching || (departure.stage == LeaveStage::kDraining && departure.sent)) {
    const cu::Status passed = canary_.passed();
    if (passed != cu::kSuccess && !pager::is_transient(passed)) return leaving_failed(passed);
    situation.touched = situation.drained = passed == cu::kSuccess;
    if (situation.drained && departure.stage == LeaveStage::kDraining) canaries_passed_ = departure.canary;
  }
  if (leaving_gate_) situation.silent = is_silent();
  switch (pager::next_leave_action(options_.leaving, situation)) {
    case LeaveAction::kWait:
      return departure.stage == LeaveStage::kDraining && !departure.sent ? send_canary(now) : now + kPoll;
    case LeaveAction::kTouch:
      return touch_batch(now);
    case LeaveAction::kUnmap:
      return unmap_batch(now);
    case LeaveAction::kCloseGate:
      close_gate(now);
      return now;
    case LeaveAction::kOpenGate:
      departure.gate_spent = true;
      open_gate(now);
      return now;
    case LeaveAction::kDrain:
      departure.stage = LeaveStage::kDraining;
      departure.silent_since_drain = leaving_gate_ && situation.silent;
      if (departure.sent) departure.send_at = now + kAgain;
      departure.sent = false;
      departure.attempts = 0;
      departure.canary = ++canaries_sent_;
      return send_canary(now);
    case LeaveAction::kForce:
      if (!departure.forced) ++counters_.leaving.forced;
      departure.forced = true;
      return release_one(now, true);
    case LeaveAction::kRelease:
      return release_one(now, options_.leaving.drain && !situation.undisturbed);
  }
  return now;
}

base::Nanos PagerCore::touch_batch(Nanos now) {
  const std::vector<std::size_t> slots = departure_.slots;
  mutex_.unlock();
  cu::Status status = cu::kSuccess;
  for (const std::size_t slot : slots) {
    if (status != cu::kSuccess) break;
    if (!frames_.half_mapped(slot)) status = canary_.touch(frames_.base() + slot * frames_.frame_bytes());
  }
  if (status == cu::kSuccess) status = canary_.mark();
  mutex_.lock();
  if (pager::is_transient(status)) return now + base::kMillisecond;
  if (status != cu::kSuccess) return leaving_failed(status);
  departure_.stage = LeaveStage::kTouching;
  return now + kPoll;
}

base::Nanos PagerCore::unmap_batch(Nanos now) {
  const std::vector<std::size_t> slots = departure_.slots;
  mutex_.unlock();
  cu::Status status = cu::kSuccess;
  for (const std::size_t slot : slots) {
    if (status == cu::kSuccess) status = frames_.unmap_addresses(slot);
  }
  mutex_.lock();
  if (pager::is_transient(status)) {
    ++counters_.retries;
    return now + base::kMillisecond;
  }
  if (status != cu::kSuccess) return leaving_failed(status);
  departure_.stage = LeaveStage::kUnmapped;
  departure_.unmapped_at = executor_.now();
  return departure_.unmapped_at;
}

base::Nanos PagerCore::send_canary(Nanos now) {
  if (now < departure_.send_at) return departure_.send_at;
  const std::optional<Demotion> demotion = card_.demotion();
  departure_.evicted.reset();
  if (demotion && demotion->demoted == 0) departure_.evicted = demotion->evicted;
  mutex_.unlock();
  const cu::Status status = canary_.send();
  mutex_.lock();
  if (status == cu::kSuccess) {
    departure_.sent = true;
    departure_.send_at = 0;
    ++counters_.leaving.canaries;
    return now + kPoll;
  }
  if (!pager::is_transient(status)) return leaving_failed(status);
  ++counters_.retries;
  departure_.send_at = now + (base::kMillisecond << std::min(departure_.attempts++, 5));  // wddm-model R-10
  return departure_.send_at;
}

// The last half of one frame's way; after the last frame the batch is over.
base::Nanos PagerCore::release_one(Nanos now, bool exposure) {
  if (!departure_.slots.empty()) {
    const std::size_t slot = departure_.slots.back();
    mutex_.unlock();
    const cu::Status status = frames_.unmap(slot);
    mutex_.lock();
    if (pager::is_transient(status)) {
      ++counters_.retries;
      return now + base::kMillisecond;
    }
    if (status != cu::kSuccess) return leaving_failed(status);
    departure_.slots.pop_back();
    frames_.set_state(slot, State::kUnmapped);
    frames_.quarantine(slot, canaries_sent_ + 1);
    ++counters_.leaving.frames;
    if (exposure) ++counters_.leaving.exposures;
    executor_.notify_all(frames_changed_);
    if (!departure_.slots.empty()) return now;
  }
  now = executor_.now();
  open_gate(now);
  departure_ = {};
  const Bytes left = frames_.held_bytes() - std::min(frames_.held_bytes(), budget_);
  leave_again_at_ = now + pager::leave_pause(options_.leaving, left, budget_lowered_at_ + leaving_deadline_ - now);
  executor_.notify_all(frames_changed_);
  return now;
}

base::Nanos PagerCore::leaving_failed(cu::Status status) {
  open_gate(executor_.now());
  fail(driver::driver_error(driver_, status, "giving frames back"));
  return base::kNever;
}

// Linux: nothing of the system's can be under way. The whole batch in one step, for a step and a waking of whoever
// waits cost more than a frame does (docs/performance.md); the lock is free during each call, so budgets, leases and
// copies go on in between.
base::Nanos PagerCore::leave_at_once() {
  cu::Status status = cu::kSuccess;
  while (!departure_.slots.empty() && status == cu::kSuccess) {
    const std::size_t slot = departure_.slots.back();
    mutex_.unlock();
    status = frames_.unmap(slot);
    mutex_.lock();
    if (status != cu::kSuccess) break;
    departure_.slots.pop_back();
    frames_.set_state(slot, State::kUnmapped);
    ++counters_.leaving.frames;
  }
  executor_.notify_all(frames_changed_);
  if (status == cu::kSuccess) return executor_.now();
  if (!pager::is_transient(status)) return leaving_failed(status);
  ++counters_.retries;
  return executor_.now() + base::kMillisecond;
}

// Under mutex_. How many slots' addresses wait for a canary.
std::size_t PagerCore::quarantined() const {
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < frames_.slots(); ++slot) {
    if (frames_.state(slot) == State::kUnmapped && !clean(slot)) ++count;
  }
  return count;
}

// Under mutex_. A canary on its own, for addresses that wait for one.
void PagerCore::begin_drain(Nanos now) {
  departure_ = {};
  departure_.active = true;
  departure_.stage = LeaveStage::kUnmapped;
  departure_.unmapped_at = now;
}

// No task runs any more and nothing uses the frames: all of them leave, and then the addresses are clean as well.
void PagerCore::leave_for_good() {
  if (!proven_leaving_ || failure_) return;
  mutex_.lock();
  const auto finish = [this] {
    while (!failure_ && departing()) {
      const Nanos next = leave_step(executor_.now());
      if (next > executor_.now()) executor_.wait(mutex_, frames_changed_, next);
    }
  };
  finish();
  for (std::size_t slot = 0; slot < frames_.slots(); ++slot) {
    if (frames_.state(slot) == State::kUnmapped) continue;
    frames_.set_state(slot, State::kReleasing);
    departure_.slots.push_back(slot);
  }
  budget_lowered_at_ = executor_.now();
  finish();
  if (!failure_) begin_drain(executor_.now());
  finish();
  mutex_.unlock();
}

}  // namespace tidegate
