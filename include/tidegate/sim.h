// A simulated card that a program can page on without a GPU. Link libtidegate_sim.
#pragma once

#include "tidegate/card.h"

namespace tidegate::sim {

// `profile`: the name of a built-in profile ("rtx3050-6g-linux", "rtx4060ti-16g-wddm", ...) or the path of a
// profile file. Time on it is virtual: it passes while callers wait, and every order is decided by `seed`. The calling
// thread becomes the world's first activity; further threads are not part of it.
// Errors: kNotFound (with the names that exist), kBadFile.
Result<std::unique_ptr<tidegate::Card>> open_card(const std::string& profile, std::uint64_t seed = 1);

}  // namespace tidegate::sim
