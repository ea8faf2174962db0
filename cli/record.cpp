#include "cli/record.h"

#include <algorithm>

namespace tidegate::cli {

Counters& Counters::operator+=(const Counters& other) {
  mapping_calls += other.mapping_calls;
  device_syncs += other.device_syncs;
  allocations += other.allocations;
  return *this;
}

Counters Counters::operator-(const Counters& other) const {
  return {mapping_calls - other.mapping_calls, device_syncs - other.device_syncs, allocations - other.allocations};
}

Totals totals_of(const RunRecord& record) {
  Totals totals;
  for (const PassRecord& pass : record.passes) {
    totals.seconds += pass.seconds;
    totals.compute_seconds += pass.compute_seconds;
    totals.bound += pass.bound;
    totals.copied += pass.copied;
    double& worst = pass.cold ? totals.worst_cold_ratio : totals.worst_warm_ratio;
    worst = std::max(worst, pass.ratio());
    if (!pass.cold) {
      totals.warm += pass.counters;
    } else if (&pass != record.passes.data()) {
      totals.swaps += pass.counters;
    }
  }
  if (totals.bound > 0) totals.ratio = totals.seconds / totals.bound;
  return totals;
}

}  // namespace tidegate::cli
