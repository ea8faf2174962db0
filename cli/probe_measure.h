// What calls and copies cost on a card: medians, on the card's own clock where it is simulated.
#pragma once

#include "cli/probe.h"

namespace tidegate::cli {

// cuMemCreate, cuMemMap, cuMemSetAccess, cuMemUnmap, cuMemRelease, in microseconds. `card` has a context.
Result<void> measure_calls(RawCard& card, std::vector<ProbeCost>& out);
// Host to device and back, page-locked and pageable, in 10^9 bytes per second by the card's events.
Result<void> measure_copies(RawCard& card, std::vector<ProbeCost>& out);

}  // namespace tidegate::cli
