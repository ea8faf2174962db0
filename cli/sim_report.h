// What `tidegate sim exec` says about the world when its command has ended.
#pragma once

#include <string>
#include <vector>

#include "sim/machine.h"

namespace tidegate::cli {

// One process of the world, as it was at its end.
struct SimProcess {
  int id = 0;
  int pid = 0;
  std::string name;
  sim::Stats stats;
};

// {"hits":[{"rule","pid","call","what"}],"hit_counts":{rule: n},"exposures":{rule: n},"calls":{name:
// n},"counts":{...}}; the list of hits ends somewhere (sim::Hazards::kKeep), the counts do not. `pid` is the process's
// number in the world, counted from 1 in the order in which processes came: the same in each run, as the system's
// numbers are not.
std::string hazards_json(const sim::Hazards& hazards, const sim::Stats& totals);

// A table: one line per process, counted and modelled figures.
std::string stats_table(const std::vector<SimProcess>& processes, base::Nanos card_time);

}  // namespace tidegate::cli
