// How frames leave the card (invariant I2). docs/leaving.md has the argument and the prices.
#pragma once

#include <cstdint>

#include "tidegate/bytes.h"

namespace tidegate {

struct LeavingOptions {
  enum class How : std::uint8_t {
    kByCard,  // kProven where the system may page device memory behind the program's back (Windows), else kAtOnce
    kAtOnce,  // last uses over, unmap, release
    kProven,  // the same, and before the release proof that the system has nothing left to do with the frame
  };
  How how = How::kByCard;

  // The measures of kProven. Each can be switched off, which is for measuring its price only.
  bool settle = true;      // work that touches the frame is seen complete after the frame's last use
  bool drain = true;       // then a canary is mapped anew, touched and seen complete
  bool gate = true;        // while this process has memory demoted, nothing is submitted between drain and release
  bool quarantine = true;  // addresses of a released frame are used again only after a later canary

  Bytes batch = 256 * kMiB;            // leaves behind one canary
  Bytes bytes_per_second = 16 * kGiB;  // 0: no limit; assumed: spreads the system's own work, no source names a rate
  // While memory of this process is demoted, a batch sends canary after canary for three quarters of the deadline, then
  // holds up leases and copies for gate_max_ms at most, then goes as it is.
  std::uint32_t gate_max_ms = 100;
  std::uint32_t deadline_ms = 2000;  // of a lowered budget, unless the call names its own
  double quarantine_share = 0.25;    // of the arena's addresses; more are drained at once
};

// Counted since the pager was made.
struct LeavingStats {
  std::uint64_t frames = 0;    // released
  std::uint64_t canaries = 0;  // sent through the system's queue
  std::uint64_t gates = 0;     // times that leases and copies were held up
  std::uint64_t gate_ns = 0;   // how long in all
  std::uint64_t forced = 0;  // batches that were drained and went without silence: gate_max_ms or deadline_ms was over
  std::uint64_t exposures = 0;    // frames released while this process had memory demoted, or might have had, and
                                  // somebody else in it might have submitted work
  std::uint64_t quarantined = 0;  // frames whose addresses wait for a canary, now
};

}  // namespace tidegate
