// The group "wddm" of a card profile.
#pragma once

#include "sim/json_group.h"
#include "sim/vidmm/parameters.h"

namespace tidegate::sim {

// `vram`: what NVML calls total.
void read_wddm(JsonGroup group, Bytes vram, vidmm::Parameters& parameters);

}  // namespace tidegate::sim
