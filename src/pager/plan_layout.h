// From a choice of what streams to a plan with addresses, and from a plan in force to the next one. Inside of plan.cpp.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/pager/plan.h"

namespace tidegate::pager {

// A choice of what streams, with the ring that is left over.
struct Choice {
  std::vector<std::uint8_t> streams;  // by block
  Bytes ring = 0;
  Nanos time = base::kNever;
};

// Gives every block that stays its home and every streamed use its place in the ring; see plan_layout.cpp.
Plan lay_out(const PlanInput& input, const Choice& needed, std::span<const std::uint8_t> preferred, const Plan* keep);
// Bytes that would have to come in because they stay under `next` and did not under `now`.
Bytes change(const PlanInput& input, const Plan& now, const Plan& next);
std::vector<std::uint8_t> exchanged(const PlanInput& input, Nanos wanted, Nanos limit, std::size_t trials);
// The plan in force with its roles and prediction brought up to date, if its pass takes at most `limit`.
std::optional<Plan> keep_current(const PlanInput& input, const Choice& needed, Nanos limit);

}  // namespace tidegate::pager
