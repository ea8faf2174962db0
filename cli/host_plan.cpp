#include "cli/host_plan.h"

#include <algorithm>

namespace tidegate::cli {
namespace {

constexpr double kLeastScale = 0x1p-20;  // where even that is too much, staging itself says so

}  // namespace

HostPlan plan_host(const Workflow& workflow, double scale, Bytes usable, Bytes card_bytes) {
  Bytes all = 0;
  Bytes largest = 0;
  for (const Model& model : workflow.models) {
    all += model.bytes();
    largest = std::max(largest, model.bytes());
  }
  const auto needs = [&](Bytes models, double at) {
    const Bytes on_card = std::min(card_bytes, all);
    return static_cast<double>(models + on_card) * at;
  };
  const auto room = static_cast<double>(usable);
  if (needs(all, scale) <= room) return {scale, false};
  while (needs(largest, scale) > room && scale > kLeastScale) scale /= 2;
  return {scale, needs(all, scale) > room};
}

}  // namespace tidegate::cli
