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

// A table: one line per process, counted and modelled figures.
std::string stats_table(const std::vector<SimProcess>& processes, base::Nanos card_time);

}  // namespace tidegate::cli
