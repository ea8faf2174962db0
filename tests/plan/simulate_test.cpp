// simulate_pass and pass_bound against passes computed by hand. Link 1 byte per nanosecond throughout.
#include <gtest/gtest.h>

#include "src/pager/plan.h"

namespace tidegate::pager {
namespace {

constexpr Bytes kUnit = 1024;

struct Given {
  std::vector<PlanBlock> blocks;
  std::vector<PlanUse> uses;
  Bytes budget = 0;
  Nanos copy_cost = 0;
  PlanInput input() const { return {blocks, uses, budget, 1.0, copy_cost}; }
  Nanos simulate(std::vector<std::uint8_t> streams, Bytes ring) const { return simulate_pass(input(), streams, ring); }
};

Given two_blocks() { return {{{kUnit}, {kUnit}}, {{0, 0, 1024}, {1, 1, 1024}}}; }

TEST(SimulatePass, ResidentBlocksCostTheirCompute) { EXPECT_EQ(two_blocks().simulate({0, 0}, 0), 2048); }

TEST(SimulatePass, ARingOfTwoOverlapsCopyAndCompute) { EXPECT_EQ(two_blocks().simulate({1, 1}, 2 * kUnit), 2048); }

TEST(SimulatePass, ARingOfOneDoesNot) { EXPECT_EQ(two_blocks().simulate({1, 1}, kUnit), 4096); }

TEST(SimulatePass, TheLinkIsTheBoundWhereComputeIsShort) {
  Given given = two_blocks();
  for (PlanUse& use : given.uses) use.compute = 10;
  // A's copy waits for A's release of the pass before: 10 ns after its arrival, which the link has long passed.
  EXPECT_EQ(given.simulate({1, 1}, 2 * kUnit), 2048);
  // One of them stays: the copy can start only when the compute of the pass before is over.
  EXPECT_EQ(given.simulate({0, 1}, kUnit), 1024 + 10);
}

TEST(SimulatePass, EveryCopyCallCosts) {
  Given given = two_blocks();
  given.copy_cost = 10;
  EXPECT_EQ(given.simulate({1, 1}, 2 * kUnit), 2 * (1024 + 10));
}

// A (1 unit), B (1), C (2) through a ring of 2: C lies where A and B lay. A's half may be overwritten at A's release
// while B still computes: C's copy comes in two pieces.
TEST(SimulatePass, ACopyComesInPiecesAsItsTenantsLeave) {
  Given given{{{kUnit}, {kUnit}, {2 * kUnit}}, {{0, 0, 1000}, {1, 1, 3000}, {2, 2, 1000}}};
  // A: copied 0 ... 1024, computes to 2024. B: to 2048, to 5048. C: first half 2048 ... 3072, second half from B's
  // release, 5048 ... 6072, computes to 7072. In one piece it would arrive at 7096.
  EXPECT_EQ(given.simulate({1, 1, 1}, 2 * kUnit), 7072);
}

TEST(SimulatePass, ABlockLargerThanTheRingNeverFits) {
  EXPECT_EQ(two_blocks().simulate({1, 1}, kUnit - kGrain), base::kNever);
  EXPECT_EQ(two_blocks().simulate({1, 0}, 0), base::kNever);
}

TEST(SimulatePass, BlocksOfOneStepAreThereTogether) {
  Given given = two_blocks();
  given.uses[1].step = 0;
  EXPECT_EQ(given.simulate({1, 1}, kUnit), base::kNever);     // the second would overwrite the first
  EXPECT_EQ(given.simulate({1, 1}, 2 * kUnit), 2048 + 2048);  // nothing overlaps
  EXPECT_EQ(given.simulate({0, 1}, kUnit), 1024 + 2048);
}

TEST(PassBound, IsTheLongerOfComputeAndMissingBytes) {
  Given given = two_blocks();
  given.budget = 2 * kUnit;
  EXPECT_EQ(pass_bound(given.input(), 0), 2048);
  EXPECT_EQ(pass_bound(given.input(), 100 * kUnit), 2048);  // everything fits: the grain does not matter
  given.budget = kUnit;
  EXPECT_EQ(pass_bound(given.input(), 0), 2048);  // compute is longer than one unit's copy
  given.uses[0].compute = 0;
  given.uses[1].compute = 100;
  EXPECT_EQ(pass_bound(given.input(), 0), 1024);
  EXPECT_EQ(pass_bound(given.input(), 512), 1536);
}

}  // namespace
}  // namespace tidegate::pager
