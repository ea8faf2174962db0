// Calls that give something back have no other way out than to succeed: what the driver refuses for the moment
// (NOT_READY, OUT_OF_MEMORY) is asked for again.
#pragma once

#include "src/driver/cuda_abi.h"

namespace tidegate::pager {

// Whether the same call may succeed later.
constexpr bool is_transient(cu::Status status) { return status == cu::kNotReady || status == cu::kOutOfMemory; }

template <typename Call>
cu::Status insist(Call&& call) {
  constexpr int kMostAttempts = 100;  // as for mapping: wddm-model R-10
  cu::Status status = call();
  for (int attempt = 1; attempt < kMostAttempts && is_transient(status); ++attempt) status = call();
  return status;
}

}  // namespace tidegate::pager
