#include "src/share/blindness.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace tidegate::share {

namespace {
constexpr int kMostScore = 3;
constexpr std::int64_t kDrift = 128 * static_cast<std::int64_t>(kMiB);  // 80 published, and what a context takes
}  // namespace

void Blindness::observe(const Movement& movement) {
  if (std::llabs(movement.others) < kTelling) return;
  const double part = static_cast<double>(movement.fell - movement.own) / static_cast<double>(movement.others);
  if (part >= 0.75 && part <= 1.25) {
    ++saw_;
    score_ = std::min(score_ + 1, kMostScore);
  } else if (part >= -0.25 && part <= 0.25) {
    ++missed_;
    score_ = std::max(score_ - 1, -kMostScore);
  }
}

std::optional<std::int64_t> Blindness::jump(const Movement& movement) {
  const std::int64_t unexplained = movement.own - movement.fell;
  if (std::llabs(unexplained) <= kDrift) return std::nullopt;
  return unexplained;
}

std::string Blindness::evidence() const {
  if (saw_ + missed_ == 0) return prior_.why;
  return fmt::format("{}; others' movements seen: {}, missed: {}", prior_.why, saw_, missed_);
}

}  // namespace tidegate::share
