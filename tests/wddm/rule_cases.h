// What each rule lets a program observe: true with the rule on, false with it off.
#pragma once

#include <span>
#include <string_view>

#include "tests/wddm/wddm_fixture.h"

namespace tidegate::sim {

struct RuleCase {
  std::string_view rule;
  bool (*holds)(Profile profile);
};

// rules_test.cpp tries them all.
std::span<const RuleCase> residency_cases();  // W-1 ... W-15
std::span<const RuleCase> paging_cases();     // W-20 ... W-36
std::span<const RuleCase> driver_cases();     // W-39 ... W-46
std::span<const RuleCase> common_cases();     // C-1 ... C-4, A.4

inline bool free_is(Program& program, Bytes bytes) {
  return program.free_mib() == static_cast<double>(bytes) / static_cast<double>(kMiB);
}

inline Bytes free_of(Program& program) { return static_cast<Bytes>(program.free_mib()) * kMiB; }

inline bool allocates(Program& program, Bytes bytes) {
  program.enter();
  cu::DevicePtr ptr = 0;
  return program.cuda().mem_alloc(&ptr, bytes) == cu::kSuccess;
}

}  // namespace tidegate::sim
