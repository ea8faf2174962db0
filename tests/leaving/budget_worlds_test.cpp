// I2 under Windows: budgets that fall and rise beside a thread that never stops submitting, with demotion.
#include "tests/leaving/leaving_world.h"

namespace tidegate::testkit {
namespace {

#if defined(TIDEGATE_SANITIZE_ADDRESS)
constexpr int kSeeds = 6;  // about ten times slower there
#else
constexpr int kSeeds = 24;
#endif

TEST(BudgetWorlds, I2_NothingIsCaughtWhileTheCardHoldsWhatIsCommitted) {
  std::uint64_t frames = 0;
  int demoting = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const LeavingOutcome outcome = LeavingWorld({.seed = seed}).run();
    EXPECT_EQ(outcome.broken, "") << "seed " << seed;
    EXPECT_FALSE(outcome.over_committed) << "seed " << seed;
    EXPECT_EQ(windows_of(outcome.hazards), 0u) << "seed " << seed << "\n" << outcome.hazards.text();
    frames += outcome.stats.leaving.frames;
    demoting += outcome.evictions > 0 ? 1 : 0;
  }
  EXPECT_GT(frames, 50u * kSeeds);
  EXPECT_GT(demoting, kSeeds / 3);
}

TEST(BudgetWorlds, WithoutItsMeasuresItIsCaught) {
  std::uint64_t caught = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const LeavingOutcome outcome = LeavingWorld({.seed = seed, .leaving = {.how = LeavingOptions::How::kAtOnce}}).run();
    caught += windows_of(outcome.hazards) > 0 ? 1 : 0;
  }
  EXPECT_GT(caught, 4u);
}

}  // namespace
}  // namespace tidegate::testkit
