// What a process on the simulated card can learn of its own demotion.
#pragma once

#include <optional>

#include "sim/process.h"
#include "tidegate/card.h"

namespace tidegate::sim {

// Card::demotion() of a simulated process; nothing on cards that Windows does not manage. Thread-safe.
std::optional<Demotion> demotion(Process& process, int card = 0);

}  // namespace tidegate::sim
