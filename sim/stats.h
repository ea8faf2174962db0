// What one process did, in numbers.
#pragma once

#include <array>
#include <cstdint>

#include "src/base/executor.h"
#include "src/driver/function_id.h"
#include "tidegate/bytes.h"

namespace tidegate::sim {

struct Stats {
  std::array<std::uint64_t, driver::kFunctionCount> calls{};  // by FunctionId
  std::uint64_t total_calls = 0;
  std::uint64_t failed_calls = 0;  // that answered neither success nor NOT_READY
  Bytes copied_h2d = 0;            // submitted
  Bytes copied_d2h = 0;
  Bytes copied_d2d = 0;
  std::uint64_t device_syncs = 0;   // ctx_synchronize and calls that imply one
  std::uint64_t mapping_calls = 0;  // create, release, map, unmap, set_access
  std::uint64_t not_ready = 0;      // cuMemSetAccess answered NOT_READY (600)
  std::uint64_t remaps = 0;         // cuMemMap where something had been mapped and unmapped before
  Bytes remapped = 0;               // of those calls, the bytes at addresses that had been used before
  Bytes committed = 0;              // physical bytes now, over all cards, contexts included
  Bytes peak_committed = 0;
  Bytes pinned = 0;

  std::uint64_t count(driver::FunctionId id) const { return calls[static_cast<std::size_t>(id)]; }
  // As one process after the other, or side by side: `committed`, `pinned` and the peak add up too.
  Stats& operator+=(const Stats& other);
};

}  // namespace tidegate::sim
