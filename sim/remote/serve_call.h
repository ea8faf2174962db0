// One request of a client, carried out on its simulated process.
#pragma once

#include <vector>

#include "sim/process.h"

namespace tidegate::sim::remote {

// Appends the reply. False: the request is not one that a client of this build makes; nothing was called.
bool serve_call(Process& process, const std::vector<unsigned char>& request, std::vector<unsigned char>& reply);

}  // namespace tidegate::sim::remote
