// The planner on 300 random models: pass times are computed by simulate_pass, not measured.
#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include "src/pager/plan.h"
#include "tests/plan/checked_plan.h"
#include "tests/support/random_model.h"

namespace tidegate::pager {
namespace {

using testkit::quantile;
using testkit::RandomModel;

#if defined(TIDEGATE_SANITIZE_ADDRESS) || defined(TIDEGATE_SANITIZE_UNDEFINED) || defined(TIDEGATE_SANITIZE_THREAD)
constexpr std::uint64_t kSeeds = 20;  // for the sanitizers, not for the figures
#else
constexpr std::uint64_t kSeeds = 300;
#endif

void print(const char* what, const std::vector<double>& values) {
  std::printf("%-8s median %.3f  90th percentile %.3f  worst %.3f  (%zu models, computed)\n", what,
              quantile(values, 0.5), quantile(values, 0.9), quantile(values, 1), values.size());
}

TEST(RandomModels, StayWithinTheLimits) {
  std::vector<double> scatter;
  std::vector<double> tail;
  std::vector<double> lru;
  std::vector<double> needed;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomModel model = testkit::random_model(seed);
    const auto bound = static_cast<double>(pass_bound(model.input(), 0));
    const auto ratio = [&](Policy policy) {
      const Plan plan = make_plan(model.input(policy));
      expect_sound(model.input(policy), plan);
      return static_cast<double>(plan.predicted) / bound;
    };
    const Plan plan = make_plan(model.input());
    expect_sound(model.input(), plan);
    scatter.push_back(static_cast<double>(plan.predicted) / bound);
    tail.push_back(ratio(Policy::kTail));
    lru.push_back(ratio(Policy::kLru));
    EXPECT_LE(scatter.back(), 1.005 * std::min(tail.back(), lru.back())) << "seed " << seed;
    if (static_cast<double>(model.compute) < 1.5 * static_cast<double>(model.transfer())) continue;
    // Compute is long: hardly more stays than what it cannot hide.
    const double hidden = static_cast<double>(model.compute) * RandomModel::kLinkBytesPerNano;
    const double unhidden = std::max(0.0, static_cast<double>(model.weights) - hidden);
    const auto ring = static_cast<double>(plan.ring);
    needed.push_back((static_cast<double>(plan.needed) + ring) / (1.1 * unhidden + ring));
    EXPECT_LE(needed.back(), 1) << "seed " << seed;
  }
  print("scatter", scatter);
  print("tail", tail);
  print("lru", lru);
  print("needed", needed);
  EXPECT_LE(quantile(scatter, 0.5), 1.04);
  EXPECT_LE(quantile(scatter, 0.9), 1.12);
  EXPECT_LE(quantile(scatter, 1), 1.30);
}

}  // namespace
}  // namespace tidegate::pager
