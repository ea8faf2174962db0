#pragma once

#include <span>
#include <string_view>

namespace tidegate::sim {

// A card profile of sim/profiles/, compiled in. Both views live as long as the program.
struct EmbeddedProfile {
  std::string_view name;  // the file's name without folder and extension
  std::string_view json;  // the file's bytes, unchanged
};

// All of them, ordered by name; empty where the build had none. Thread-safe; never fails.
std::span<const EmbeddedProfile> embedded_profiles();

}  // namespace tidegate::sim
