#include "sim/stats.h"

namespace tidegate::sim {

Stats& Stats::operator+=(const Stats& other) {
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] += other.calls[i];
  total_calls += other.total_calls;
  failed_calls += other.failed_calls;
  copied_h2d += other.copied_h2d;
  copied_d2h += other.copied_d2h;
  copied_d2d += other.copied_d2d;
  device_syncs += other.device_syncs;
  mapping_calls += other.mapping_calls;
  not_ready += other.not_ready;
  remaps += other.remaps;
  remapped += other.remapped;
  committed += other.committed;
  peak_committed += other.peak_committed;
  pinned += other.pinned;
  return *this;
}

}  // namespace tidegate::sim
