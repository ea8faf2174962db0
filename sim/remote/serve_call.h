// One request of a client, carried out on its simulated process.
#pragma once

#include <vector>

#include "sim/machine.h"

namespace tidegate::sim::remote {

// Appends the reply. False: the request is not one that a client of this build makes; nothing was called.
// `file`: a descriptor that goes to the client before the reply does; negative: none.
bool serve_call(Machine& machine, Process& process, const std::vector<unsigned char>& request,
                std::vector<unsigned char>& reply, int& file);

}  // namespace tidegate::sim::remote
