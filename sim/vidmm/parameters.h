// What differs from card to card under Windows. Filled from the group "wddm" of a card profile, where each number says
// whether it was published or is assumed.
#pragma once

#include "src/base/executor.h"
#include "tidegate/bytes.h"

namespace tidegate::sim::vidmm {

// When memory that nothing has touched becomes resident (GT-3 fits the last two alike).
enum class CommitMode : std::uint8_t {
  kEager,        // in the call that allocates or maps it
  kLazyOnTouch,  // at most `untouched_resident` of a process at once, the rest with its next submission
  kAsyncRate,    // a worker fills it at `fill_mib_per_s`, the rest with the next submission
};

// Which of the three published walls stops page-locking (W-44).
enum class PinModel : std::uint8_t { kHalfRam, kVramCoupled, kPerCall };

struct Parameters {
  // Budgets (W-9 ... W-12). A partition gives a process what it has, what is free and `bias_repartition`, but no more
  // than `budget_idle`.
  Bytes budget_idle = 0;
  Bytes bias_repartition = 0;
  // Once others have grown by more than `drift_beyond` of the card since then, it sinks by up to `pressure_drift`.
  Bytes pressure_drift = 0;
  double drift_beyond = 0;

  CommitMode commit_mode = CommitMode::kLazyOnTouch;
  Bytes untouched_resident = 0;
  double fill_mib_per_s = 0;

  Bytes page = 64 * kKiB;           // W-2
  double page_gb_per_s = 0;         // W-33: page-in of demoted memory, making room included
  base::Nanos map_latency = 0;      // A.4: at most, for a mapping operation of the paging queue
  base::Nanos page_in_latency = 0;  // A.4: at most, in addition, when a page-in is pending
  base::Nanos reclaim_delay = 0;    // W-27: mean; an operation takes up to twice as long
  bool assume_not_in_use = true;    // W-25, W-26
  bool synchronous_destroy = false;

  double not_ready_probability = 0;  // W-41
  base::Nanos not_ready_window_min = 0;
  base::Nanos not_ready_window_max = 0;

  Bytes ram = 0;                // W-3: half of it is the NON_LOCAL limit
  bool sysmem_fallback = true;  // W-42
  PinModel pin_model = PinModel::kHalfRam;
  Bytes pin_slack = 0;               // kVramCoupled: what the sum of pinned and resident stays below the card
  Bytes pin_per_call = 0;            // kPerCall
  Bytes pin_in_process = 0;          // kPerCall
  bool pin_failure_sticky = true;    // kVramCoupled: one failure poisons later calls
  std::uint64_t va_churn_limit = 0;  // H-10: reserve and free pairs that the runtime bears; 0: any number
};

}  // namespace tidegate::sim::vidmm
