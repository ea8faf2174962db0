#include "src/pager/leave.h"

#include <algorithm>

namespace tidegate::pager {

LeaveAction next_leave_action(const LeavingOptions& options, const LeaveSituation& now) {
  switch (now.stage) {
    case LeaveStage::kGathered:
      return options.settle ? LeaveAction::kTouch : LeaveAction::kUnmap;
    case LeaveStage::kTouching:  // our own work: unmapping under it is never an option (I1)
      return now.touched ? LeaveAction::kUnmap : LeaveAction::kWait;
    case LeaveStage::kSettled:
      return LeaveAction::kUnmap;
    case LeaveStage::kUnmapped:
      return options.drain ? LeaveAction::kDrain : LeaveAction::kRelease;
    case LeaveStage::kDraining:
      break;
  }
  const base::Nanos gate_max = options.gate_max_ms * base::kMillisecond;
  const base::Nanos waited = std::max(now.draining_for, now.since_asked);
  const bool overdue = waited >= now.deadline;
  // Without a drain a release may be what crashed Windows: then the memory stays, counted as retiring (I4).
  if (!now.drained) return now.gate_closed && now.gate_for >= gate_max ? LeaveAction::kOpenGate : LeaveAction::kWait;
  if (!options.gate || now.undisturbed) return LeaveAction::kRelease;
  if (overdue || now.gate_spent) return LeaveAction::kForce;
  // What is demoted may come back by itself. Silence is the second best: of what others in the process submit the
  // pager knows nothing.
  if (!now.gate_closed) {
    return now.told && waited < now.deadline / 4 * 3 ? LeaveAction::kDrain : LeaveAction::kCloseGate;
  }
  if (now.silent_since_drain && now.silent) return LeaveAction::kRelease;
  if (now.gate_for >= gate_max) return LeaveAction::kForce;
  return now.silent ? LeaveAction::kDrain : LeaveAction::kWait;
}

base::Nanos leave_pause(const LeavingOptions& options, Bytes left, base::Nanos time_left) {
  if (options.bytes_per_second == 0 || options.batch == 0) return 0;
  const auto by_rate = static_cast<base::Nanos>(static_cast<double>(options.batch) /
                                                static_cast<double>(options.bytes_per_second) * 1e9);
  // Half of the time that is left, so that the batches' own time fits as well.
  const base::Nanos time = std::max<base::Nanos>(0, time_left) / 2;
  const auto batches = static_cast<base::Nanos>((left + options.batch - 1) / options.batch);
  return std::min(by_rate, time / std::max<base::Nanos>(batches, 1));
}

}  // namespace tidegate::pager
