// A simulated world of this process alone: one card, one simulated process, real threads.
#pragma once

#include <string>
#include <vector>

#include "sim/backend.h"

namespace tidegate::sim {

// `profile` and `changes` as in load_profile(). The simulated process goes by this process's pid. Refused modules are
// told on stderr, one line each. Errors: those of load_profile().
Result<std::unique_ptr<Backend>> open_local_backend(const std::string& profile,
                                                    const std::vector<std::string>& changes = {});

}  // namespace tidegate::sim
