// The policy of leaving: what a batch of frames does next. Pure; src/pager/core_leave.cpp carries it out.
//
// A batch is touched, unmapped, drained and released. The touch proves that the system has paged its frames in and the
// canary that it has nothing queued any more, of any frame, up to then. What can come later is a page-in of memory that
// was demoted when the canary was sent, or since; it needs a submission of this process. So the last look is at what is
// demoted, frame by frame, right before each release, and while anything is, at whether this process is silent.
#pragma once

#include <cstdint>

#include "src/base/executor.h"
#include "tidegate/leave.h"

namespace tidegate::pager {

enum class LeaveStage : std::uint8_t {
  kGathered,  // idle frames, still mapped
  kTouching,  // work that touches each of them was submitted
  kSettled,   // and is complete
  kUnmapped,
  kDraining,  // the canary is on its way
};

struct LeaveSituation {
  LeaveStage stage = LeaveStage::kGathered;
  bool touched = false;             // the touching work is complete
  bool drained = false;             // the canary is
  bool undisturbed = false;         // nothing of this process was demoted when the canary was sent, and nothing since
  bool told = false;                // the system tells what is demoted
  bool gate_closed = false;         // no new lease, no copy
  bool gate_spent = false;          // it was closed as long as it may be
  bool silent = false;              // no lease held, and everything that the pager knows of is complete
  bool silent_since_drain = false;  // was so when the canary was sent, with the gate closed
  base::Nanos gate_for = 0;         // since it was closed
  base::Nanos draining_for = 0;     // since the batch was unmapped
  base::Nanos since_asked = 0;      // since the budget was lowered
  base::Nanos deadline = 0;         // for it, from then on
};

enum class LeaveAction : std::uint8_t { kTouch, kUnmap, kDrain, kWait, kCloseGate, kOpenGate, kRelease, kForce };

LeaveAction next_leave_action(const LeavingOptions& options, const LeaveSituation& now);

// How long to wait between two batches: by the rate, but so that `left` bytes more are gone in `time_left`.
base::Nanos leave_pause(const LeavingOptions& options, Bytes left, base::Nanos time_left);

}  // namespace tidegate::pager
