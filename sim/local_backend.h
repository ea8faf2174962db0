// A simulated world of this process alone: one card, one simulated process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/backend.h"

namespace tidegate::sim {

struct LocalOptions {
  std::string card{};  // `card` and `changes` as in load_profile()
  std::vector<std::string> changes{};
  std::uint64_t seed = 1;
  // Time passes with the card's work, inside calls only: one calling thread, same seed, same run. Else in real time.
  bool virtual_time = false;
  Bytes tags_from = 0;  // MachineOptions::tags_from
  // Files that at_exit() writes; empty: none. As `tidegate sim exec` writes them.
  std::string hazards{};
  std::string trace{};
};

// The simulated process goes by this process's pid. Refused modules are told on stderr, one line each. Errors: those
// of load_profile(), those of base::can_write_file().
Result<std::unique_ptr<Backend>> open_local_backend(const LocalOptions& options);

}  // namespace tidegate::sim
