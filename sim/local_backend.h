// A simulated world of this process alone: one card, one simulated process, real threads.
#pragma once

#include "sim/backend.h"

namespace tidegate::sim {

// `profile`: a built-in profile's name or a profile file. The simulated process goes by this process's pid. Refused
// modules are told on stderr, one line each. Errors: kNotFound (with the names that exist), kBadFile.
Result<std::unique_ptr<Backend>> open_local_backend(const std::string& profile);

}  // namespace tidegate::sim
