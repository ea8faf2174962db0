// The group "wddm" of a card profile.
#pragma once

#include "sim/json_group.h"
#include "sim/vidmm/parameters.h"

namespace tidegate::sim {

void read_wddm(JsonGroup group, vidmm::Parameters& parameters);

}  // namespace tidegate::sim
