// The random models by which plans are judged: sizes log-normal, compute spread by bytes, all decided by a seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "src/base/checksum.h"
#include "src/pager/plan.h"

namespace tidegate::testkit {

struct RandomModel {
  static constexpr Bytes kBudget = 2 * kGiB;
  static constexpr double kLinkBytesPerNano = 12;  // of rtx3050-6g-linux
  static constexpr base::Nanos kCopyCost = 2600;   // what the pager measures there

  std::vector<pager::PlanBlock> blocks;
  std::vector<pager::PlanUse> uses;  // each block once, in order
  Bytes weights = 0;
  base::Nanos compute = 0;

  pager::PlanInput input(Policy policy = Policy::kScatter) const {
    return {blocks, uses, kBudget, kLinkBytesPerNano, kCopyCost, policy};
  }
  base::Nanos transfer() const {
    return static_cast<base::Nanos>(static_cast<double>(weights - kBudget) / kLinkBytesPerNano);
  }
};

// Blocks U{120 ... 600} unless `blocks` says how many; sizes log-normal with sigma 1, clipped to 3 % of the budget;
// resident share U(0.3, 0.9); compute = U(0.2, 2) x (weights - budget) / link, spread by bytes x U(0.3, 1.7).
inline RandomModel random_model(std::uint64_t seed, std::size_t blocks = 0) {
  base::Random random(seed * 7919);
  RandomModel model;
  const std::size_t count = blocks != 0 ? blocks : 120 + random.below(481);
  const double budget = static_cast<double>(RandomModel::kBudget);
  const double share = 0.3 + 0.6 * random.unit();
  const double wanted = budget / share;
  const double cap = 0.03 * budget;
  std::vector<double> raw(count);
  for (double& size : raw) {
    const double radius = random.unit();
    const double angle = random.unit();
    size = std::exp(std::sqrt(-2 * std::log(1 - radius)) * std::cos(2 * std::numbers::pi * angle));
  }
  double low = 0;  // the scale at which the clipped sizes add up to what is wanted, by bisection
  double high = 1e18;
  for (int round = 0; round < 200; ++round) {
    const double scale = (low + high) / 2;
    double sum = 0;
    for (const double size : raw) sum += std::min(cap, size * scale);
    (sum < wanted ? low : high) = scale;
  }
  for (const double size : raw) {
    const auto bytes = static_cast<Bytes>(std::min(cap, size * low));
    model.blocks.push_back({std::max(pager::kGrain, round_down(bytes, pager::kGrain)), false});
    model.weights += model.blocks.back().bytes;
  }
  if (model.weights <= RandomModel::kBudget) return random_model(seed + 100'000, blocks);  // clipped: nothing to page
  const double total = (0.2 + 1.8 * random.unit()) * static_cast<double>(model.weights - RandomModel::kBudget) /
                       RandomModel::kLinkBytesPerNano;
  std::vector<double> parts(count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    parts[i] = static_cast<double>(model.blocks[i].bytes) * (0.3 + 1.4 * random.unit());
    sum += parts[i];
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto compute = static_cast<base::Nanos>(parts[i] / sum * total);
    model.uses.push_back({i, i, compute});
    model.compute += compute;
  }
  return model;
}

// Of sorted or unsorted values: the one below which `share` of them lie.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

}  // namespace tidegate::testkit
