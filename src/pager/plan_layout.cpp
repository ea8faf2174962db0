#include "src/pager/plan_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/base/checksum.h"

namespace tidegate::pager {

namespace {

// The free ranges of [begin, end) while blocks are being placed, found by place and by size.
class Gaps {
 public:
  Gaps(Bytes begin, Bytes end) { add(begin, end); }
  // Takes exactly [begin, end) if it is free.
  bool take(Bytes begin, Bytes end) {
    auto it = by_begin_.upper_bound(begin);
    if (it == by_begin_.begin()) return false;
    --it;
    const auto [gap_begin, gap_end] = *it;
    if (gap_end < end) return false;
    by_size_.erase({gap_end - gap_begin, gap_begin});
    by_begin_.erase(it);
    add(gap_begin, begin);
    add(end, gap_end);
    return true;
  }
  // Takes the front of the smallest gap that is large enough, the lowest of several; kNowhere if there is none.
  Bytes take_best(Bytes bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) return kNowhere;
    const Bytes begin = best->second;
    take(begin, begin + bytes);
    return begin;
  }

 private:
  void add(Bytes begin, Bytes end) {
    if (begin >= end) return;
    by_begin_[begin] = end;
    by_size_.emplace(end - begin, begin);
  }

  std::map<Bytes, Bytes> by_begin_;            // begin to end
  std::set<std::pair<Bytes, Bytes>> by_size_;  // (size, begin)
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
// else, until it takes `wanted`; empty if that does not bring it to `limit`.
std::vector<std::uint8_t> exchanged(const PlanInput& input, Nanos wanted, Nanos limit, std::size_t trials) {
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
  for (std::size_t trial = 0; trial < trials && time > wanted; ++trial) {
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
  return time <= limit ? streams : std::vector<std::uint8_t>{};
}

// The plan in force with its roles and prediction brought up to date, if it is good enough to stay.
std::optional<Plan> keep_current(const PlanInput& input, const Choice& needed, Nanos limit) {
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
  if (plan.predicted > limit) return std::nullopt;
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
