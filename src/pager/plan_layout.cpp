#include "src/pager/plan_layout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/base/checksum.h"

namespace tidegate::pager {

namespace {

// A plan in force stays while it is within this much of the best: changing it costs copies. Above DESIGN's 1 % because
// a first plan, made before anything was measured, is typically 1 to 1.7 % off (docs/planning.md).
constexpr Nanos kKeepPercent = 2;

// The free ranges of [begin, end) while blocks are being placed.
class Gaps {
 public:
  Gaps(Bytes begin, Bytes end) {
    if (begin < end) gaps_[begin] = end;
  }
  // Takes exactly [begin, end) if it is free.
  bool take(Bytes begin, Bytes end) {
    auto it = gaps_.upper_bound(begin);
    if (it == gaps_.begin()) return false;
    --it;
    if (it->second < end) return false;
    const Bytes tail = it->second;
    const Bytes head = it->first;
    gaps_.erase(it);
    if (head < begin) gaps_[head] = begin;
    if (end < tail) gaps_[end] = tail;
    return true;
  }
  // Takes the front of the smallest gap that is large enough; kNowhere if there is none.
  Bytes take_best(Bytes bytes) {
    auto best = gaps_.end();
    for (auto it = gaps_.begin(); it != gaps_.end(); ++it) {
      const Bytes size = it->second - it->first;
      if (size >= bytes && (best == gaps_.end() || size < best->second - best->first)) best = it;
    }
    if (best == gaps_.end()) return kNowhere;
    const Bytes begin = best->first;
    take(begin, begin + bytes);
    return begin;
  }

 private:
  std::map<Bytes, Bytes> gaps_;  // begin to end
};

}  // namespace

// Lays out the arena: the ring first, then what stays. Blocks that stay under the plan in force as well keep their
// homes, so that changing plans moves little; otherwise needed blocks come before cached ones, because the end of the
// arena is given back first. Spare room caches streamed blocks, those that `preferred` would not stream first. What
// does not fit between kept homes streams.
Plan lay_out(const PlanInput& input, const Choice& needed, std::span<const std::uint8_t> preferred, const Plan* keep) {
  Plan plan;
  plan.blocks.resize(input.blocks.size());
  Bytes wanted = 0;
  for (std::size_t i = 0; i < input.blocks.size(); ++i) {
    if (needed.streams[i] == 0) wanted += input.blocks[i].bytes;
  }
  // The ring that the choice asks for; less only if what must stay leaves less.
  plan.ring = std::min(round_up(needed.ring, kGrain), input.budget - std::min(input.budget, wanted));
  Gaps gaps(plan.ring, input.budget);
  const auto settle = [&](std::uint32_t block, Role role, Bytes home) {
    if (home == kNowhere) return false;
    plan.blocks[block] = {role, home};
    (role == Role::kNeeded ? plan.needed : plan.cached) += input.blocks[block].bytes;
    return true;
  };
  const auto kept_home = [&](std::uint32_t block) {
    if (keep == nullptr) return kNowhere;
    const Bytes home = keep->blocks[block].home;
    return home != kNowhere && gaps.take(home, home + input.blocks[block].bytes) ? home : kNowhere;
  };
  std::vector<std::uint32_t> unplaced;
  for (std::uint32_t i = 0; i < input.blocks.size(); ++i) {
    if (needed.streams[i] == 0 && !settle(i, Role::kNeeded, kept_home(i))) unplaced.push_back(i);
  }
  if (keep != nullptr) {  // the largest first, since the gaps are what they are
    std::stable_sort(unplaced.begin(), unplaced.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return input.blocks[a].bytes > input.blocks[b].bytes; });
  }
  for (const std::uint32_t block : unplaced) settle(block, Role::kNeeded, gaps.take_best(input.blocks[block].bytes));
  Bytes streamed = 0;
  for (std::size_t i = 0; i < input.blocks.size(); ++i) {
    if (plan.blocks[i].role == Role::kStreamed) streamed += input.blocks[i].bytes;
  }
  const Bytes occupied = plan.ring + plan.needed;
  const Bytes spare = input.budget - std::min(input.budget, occupied);
  const double share = streamed == 0 ? 0 : static_cast<double>(spare) / static_cast<double>(streamed);
  double debt = 0;
  const auto cache = [&](const PlanUse& use, bool wish) {
    if (plan.blocks[use.block].role != Role::kStreamed || !wish) return;
    const Bytes home = kept_home(use.block);
    settle(use.block, Role::kCached, home != kNowhere ? home : gaps.take_best(input.blocks[use.block].bytes));
  };
  if (spare > 0 && !preferred.empty()) {
    for (const PlanUse& use : input.uses) cache(use, preferred[use.block] == 0);
  } else if (spare > 0) {
    for (const PlanUse& use : input.uses) {  // evenly along the pass
      const auto bytes = static_cast<double>(input.blocks[use.block].bytes);
      if (plan.blocks[use.block].role != Role::kStreamed) continue;
      debt += share * bytes;
      if (debt < bytes * 0.5) continue;
      debt -= bytes;
      cache(use, true);
    }
  }
  if (spare > 0) {
    for (const PlanUse& use : input.uses) cache(use, true);
  }
  // Ring offsets exactly as simulate_pass assumes them.
  plan.ring_use_of.assign(input.uses.size(), kNoRingUse);
  Bytes ring_position = 0;
  std::vector<std::uint8_t> streams_now(input.blocks.size(), 0);
  for (std::uint32_t u = 0; u < input.uses.size(); ++u) {
    const std::uint32_t block = input.uses[u].block;
    if (plan.blocks[block].role != Role::kStreamed) continue;
    const Bytes bytes = input.blocks[block].bytes;
    if (ring_position + bytes > plan.ring) ring_position = 0;
    plan.ring_use_of[u] = static_cast<std::uint32_t>(plan.ring_uses.size());
    plan.ring_uses.push_back({u, block, ring_position});
    ring_position += bytes;
    plan.largest_streamed = std::max(plan.largest_streamed, bytes);
    plan.streamed_per_pass += bytes;
    streams_now[block] = 1;
  }
  plan.predicted = simulate_pass(input, streams_now, plan.ring);
  return plan;
}

// Bytes that would have to come in because they stay under `next` and did not under `now`.
Bytes change(const PlanInput& input, const Plan& now, const Plan& next) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < input.blocks.size(); ++i) {
    if (next.blocks[i].home != kNowhere && next.blocks[i].home != now.blocks[i].home) bytes += input.blocks[i].bytes;
  }
  return bytes;
}

// The plan in force made better by exchanging streamed blocks for resident ones of the same size, which moves nothing
// else; empty if that does not bring it near `best`.
std::vector<std::uint8_t> exchanged(const PlanInput& input, Nanos best, std::size_t trials) {
  const Plan& current = *input.current;
  std::vector<std::uint8_t> streams(input.blocks.size());
  std::map<Bytes, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> by_size;  // streamed, resident
  for (const PlanUse& use : input.uses) {
    const bool rings = current.blocks[use.block].home == kNowhere;
    streams[use.block] = rings ? 1 : 0;
    if (input.blocks[use.block].keep) continue;
    auto& [streamed, resident] = by_size[input.blocks[use.block].bytes];
    (rings ? streamed : resident).push_back(use.block);
  }
  std::erase_if(by_size, [](const auto& entry) { return entry.second.first.empty() || entry.second.second.empty(); });
  if (by_size.empty()) return {};
  std::vector<std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>*> classes;
  classes.reserve(by_size.size());
  for (auto& [bytes, members] : by_size) classes.push_back(&members);
  base::Random random(1);  // any fixed seed: the same input gives the same plan
  Nanos time = simulate_pass(input, streams, current.ring);
  for (std::size_t trial = 0; trial < trials && time > best + best / 100; ++trial) {
    auto& [streamed, resident] = *classes[random.below(classes.size())];
    std::uint32_t& out = streamed[random.below(streamed.size())];
    std::uint32_t& in = resident[random.below(resident.size())];
    std::swap(streams[out], streams[in]);
    const Nanos now = simulate_pass(input, streams, current.ring);
    if (now < time) {
      time = now;
      std::swap(out, in);
    } else {
      std::swap(streams[out], streams[in]);
    }
  }
  return time <= best + best * kKeepPercent / 100 ? streams : std::vector<std::uint8_t>{};
}

// The plan in force with its roles and prediction brought up to date, if it is good enough to stay.
std::optional<Plan> keep_current(const PlanInput& input, const Choice& needed, Nanos best) {
  if (input.current == nullptr || input.current->ring_use_of.size() != input.uses.size()) return std::nullopt;
  Plan plan = *input.current;
  std::vector<std::uint8_t> streams(input.blocks.size(), 0);
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i] = plan.blocks[i].role == Role::kStreamed ? 1 : 0;
  for (std::size_t u = 0; u < input.uses.size(); ++u) {  // made for another order?
    const bool rings = plan.ring_use_of[u] != kNoRingUse;
    if (rings != (streams[input.uses[u].block] != 0)) return std::nullopt;
    if (rings && plan.ring_uses[plan.ring_use_of[u]].block != input.uses[u].block) return std::nullopt;
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i] == 0 && plan.blocks[i].home + input.blocks[i].bytes > input.budget) return std::nullopt;
  }
  plan.predicted = simulate_pass(input, streams, plan.ring);
  if (plan.predicted > best + best * kKeepPercent / 100) return std::nullopt;
  plan.needed = 0;
  plan.cached = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i] != 0) continue;
    plan.blocks[i].role = needed.streams[i] == 0 ? Role::kNeeded : Role::kCached;
    (needed.streams[i] == 0 ? plan.needed : plan.cached) += input.blocks[i].bytes;
  }
  return plan;
}

}  // namespace tidegate::pager
