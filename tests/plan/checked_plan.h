// What must hold for every plan.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/pager/plan.h"

namespace tidegate::pager {

// Homes and ring lie inside the budget, apart from each other, at the grain; the sums are right; every use of a
// streamed block has its place in the ring, and no other use has; the prediction is simulate_pass's.
inline void expect_sound(const PlanInput& input, const Plan& plan, bool under_floor = false) {
  ASSERT_EQ(plan.blocks.size(), input.blocks.size());
  ASSERT_EQ(plan.ring_use_of.size(), input.uses.size());
  EXPECT_LE(plan.ring, input.budget);
  std::vector<std::pair<Bytes, Bytes>> taken;
  std::vector<std::uint8_t> streams(input.blocks.size(), 0);
  Bytes needed = 0;
  Bytes cached = 0;
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    const auto [role, home] = plan.blocks[i];
    const Bytes bytes = input.blocks[i].bytes;
    if (role == Role::kStreamed) {
      streams[i] = 1;
      EXPECT_EQ(home, kNowhere) << "block " << i;
      EXPECT_TRUE(!input.blocks[i].keep || under_floor) << "block " << i << " must stay";
      continue;
    }
    (role == Role::kNeeded ? needed : cached) += bytes;
    EXPECT_EQ(home % kGrain, 0u) << "block " << i;
    EXPECT_GE(home, plan.ring) << "block " << i;
    EXPECT_LE(home + bytes, input.budget) << "block " << i;
    taken.emplace_back(home, home + bytes);
  }
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_LE(taken[i - 1].second, taken[i].first) << "homes overlap";
  EXPECT_EQ(plan.needed, needed);
  EXPECT_EQ(plan.cached, cached);
  EXPECT_LE(plan.ring + needed + cached, input.budget);

  Bytes streamed = 0;
  std::size_t next = 0;
  for (std::uint32_t u = 0; u < input.uses.size(); ++u) {
    const std::uint32_t block = input.uses[u].block;
    if (streams[block] == 0) {
      EXPECT_EQ(plan.ring_use_of[u], kNoRingUse);
      continue;
    }
    ASSERT_EQ(plan.ring_use_of[u], next) << "ring uses are in order of use";
    ASSERT_LT(next, plan.ring_uses.size());
    const RingUse& use = plan.ring_uses[next++];
    EXPECT_EQ(use.use, u);
    EXPECT_EQ(use.block, block);
    EXPECT_EQ(use.offset % kGrain, 0u);
    if (!under_floor) {
      ASSERT_LE(use.offset + input.blocks[block].bytes, plan.ring) << "ring use " << next - 1;
    }
    streamed += input.blocks[block].bytes;
  }
  EXPECT_EQ(next, plan.ring_uses.size());
  EXPECT_EQ(plan.streamed_per_pass, streamed);
  Nanos compute = 0;
  for (const PlanUse& use : input.uses) compute += use.compute;
  if (compute > 0) {
    EXPECT_EQ(plan.predicted, simulate_pass(input, streams, plan.ring));
  }
}

inline bool same(const Plan& a, const Plan& b) {
  if (a.blocks.size() != b.blocks.size() || a.ring != b.ring || a.needed != b.needed || a.cached != b.cached ||
      a.reclaimable != b.reclaimable || a.predicted != b.predicted || a.ring_use_of != b.ring_use_of ||
      a.ring_uses.size() != b.ring_uses.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    if (a.blocks[i].role != b.blocks[i].role || a.blocks[i].home != b.blocks[i].home) return false;
  }
  for (std::size_t i = 0; i < a.ring_uses.size(); ++i) {
    if (a.ring_uses[i].block != b.ring_uses[i].block || a.ring_uses[i].offset != b.ring_uses[i].offset) return false;
  }
  return true;
}

}  // namespace tidegate::pager
