// What was found in a world, as the file that `tidegate sim exec --hazards` writes.
#pragma once

#include <string>

#include "sim/hazards.h"
#include "sim/stats.h"

namespace tidegate::sim {

// {"hits":[{"rule","pid","call","what"}],"hit_counts":{rule: n},"exposures":{rule: n},"calls":{name:
// n},"counts":{...}}; the list of hits ends somewhere (sim::Hazards::kKeep), the counts do not. `pid` is the process's
// number in the world, counted from 1 in the order in which processes came: the same in each run, as the system's
// numbers are not.
std::string hazards_json(const Hazards& hazards, const Stats& totals);

}  // namespace tidegate::sim
