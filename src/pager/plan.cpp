#include "src/pager/plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "src/pager/plan_layout.h"

namespace tidegate::pager {

namespace {

// The search works on one input; scratch is kept between candidates.
class Search {
 public:
  explicit Search(const PlanInput& input) : input_(input) {
    const std::size_t n = input.blocks.size();
    uses_of_.assign(n, 0);
    for (const PlanUse& use : input.uses) {
      ++uses_of_[use.block];
      compute_ += use.compute;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (input.blocks[i].keep || uses_of_[i] > 0) weights_ += input.blocks[i].bytes;
      if (input.blocks[i].keep || uses_of_[i] == 0) continue;
      largest_ = std::max(largest_, input.blocks[i].bytes);
      if (uses_of_[i] == 1) sizes_.push_back(input.blocks[i].bytes);
    }
    std::sort(sizes_.begin(), sizes_.end());
    // About 2 million block visits keep a search under 30 ms; every candidate costs about 20 visits a block.
    const std::size_t affordable = 2'000'000 / (20 * std::max<std::size_t>(n, 1)) + 1;
    candidates_ = std::min<std::size_t>(affordable, 180);
  }

  Bytes weights() const { return weights_; }
  Bytes largest() const { return largest_; }

  Choice everything_streams(Bytes budget) const {
    Choice choice;
    choice.streams.assign(input_.blocks.size(), 1);
    Bytes kept = 0;
    for (std::size_t i = 0; i < choice.streams.size(); ++i) {
      if (!input_.blocks[i].keep) continue;
      choice.streams[i] = 0;
      kept += input_.blocks[i].bytes;
    }
    choice.ring = budget - std::min(budget, kept);
    return evaluated(std::move(choice));
  }

  // What comes last in the order streams, through a ring of twice the largest of it: the best-known watermark.
  Choice tail(Bytes budget) const {
    Choice choice;
    choice.streams = nothing_streams();
    std::vector<std::uint32_t> by_first_use;
    std::vector<std::uint8_t> seen(input_.blocks.size(), 0);
    for (const PlanUse& use : input_.uses) {
      if (seen[use.block] == 0 && !input_.blocks[use.block].keep) by_first_use.push_back(use.block);
      seen[use.block] = 1;
    }
    Bytes resident = weights_;
    Bytes largest = 0;
    for (auto it = by_first_use.rbegin(); it != by_first_use.rend() && resident + 2 * largest > budget; ++it) {
      choice.streams[*it] = 1;
      resident -= input_.blocks[*it].bytes;
      largest = std::max(largest, input_.blocks[*it].bytes);
    }
    choice.ring = budget - std::min(budget, resident);
    return evaluated(std::move(choice));
  }

  // The best evenly scattered choice for `budget`.
  Choice scatter(Bytes budget, std::size_t candidates) {
    Choice best;
    for_each_candidate(budget, candidates, [&](Choice choice) {
      if (choice.time < best.time) best = std::move(choice);
    });
    return best;
  }

  // Of the choices for `budget` that take at most `good_enough`, the one with the largest ring.
  Choice fewest_resident(Bytes budget, std::size_t candidates, Nanos good_enough) {
    Choice best = everything_streams(budget);
    if (best.time <= good_enough) return best;
    best = Choice{};
    for_each_candidate(budget, candidates, [&](Choice choice) {
      if (choice.time <= good_enough && (best.time == base::kNever || choice.ring > best.ring))
        best = std::move(choice);
    });
    return best;
  }

  // One candidate: what streams is at most `limit` large and used at most `most_uses` times; the ring has at least
  // `ring` bytes. False if that is not possible.
  bool candidate(Bytes budget, Bytes limit, Bytes ring, std::uint32_t most_uses, Choice& choice) {
    const Bytes required = weights_ - std::min(weights_, budget - ring);
    Bytes streamed = 0;
    if (!choose(limit, required, most_uses, streamed)) return false;
    choice.streams = chosen_;
    choice.ring = budget - (weights_ - streamed);
    choice = evaluated(std::move(choice));
    return true;
  }

  // A block that the pass never uses is not resident either: it is fetched if somebody asks for it after all.
  std::vector<std::uint8_t> nothing_streams() const {
    std::vector<std::uint8_t> streams(input_.blocks.size(), 0);
    for (std::size_t i = 0; i < streams.size(); ++i) streams[i] = uses_of_[i] == 0 && !input_.blocks[i].keep ? 1 : 0;
    return streams;
  }

  Choice evaluated(Choice choice) const {
    choice.time = simulate_pass(input_, choice.streams, choice.ring);
    return choice;
  }

  std::size_t candidates() const { return candidates_; }

 private:
  // A grid of block-size limits and ring sizes.
  template <typename Visit>
  void for_each_candidate(Bytes budget, std::size_t candidates, Visit visit) {
    if (sizes_.empty()) return;
    static constexpr double kRingFactors[] = {1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0, 14.0};
    const std::size_t limits = std::clamp<std::size_t>(candidates / std::size(kRingFactors), 1, 18);
    Bytes previous = 0;
    for (std::size_t q = 1; q <= limits; ++q) {
      const Bytes limit = sizes_[std::min(sizes_.size() - 1, sizes_.size() * q / limits)];
      if (limit == previous) continue;
      previous = limit;
      for (const double factor : kRingFactors) {
        const auto ring = static_cast<Bytes>(factor * static_cast<double>(limit));
        if (ring > budget) break;
        Choice choice;
        if (candidate(budget, limit, ring, 1, choice)) visit(std::move(choice));
        if (sizes_.front() != limit && candidates < 40) break;
      }
    }
  }

  // Error diffusion along the pass: the streamed bytes follow the compute time, so that the link is always busy and
  // never late. Picks blocks up to `limit` whose bytes add up to at least `required`, by bisection of the density.
  bool choose(Bytes limit, Bytes required, std::uint32_t most_uses, Bytes& streamed) {
    double low = 0.2;
    double high = 6.0;
    bool found = false;
    const auto total_compute = static_cast<double>(std::max<Nanos>(compute_, 1));
    for (int round = 0; round < 14; ++round) {
      const double density = (low + high) / 2 * static_cast<double>(required) / total_compute;
      trial_ = nothing_streams();
      double debt = 0;
      Bytes sum = 0;
      for (const PlanUse& use : input_.uses) {
        debt += density * static_cast<double>(use.compute);
        const PlanBlock& block = input_.blocks[use.block];
        if (block.keep || block.bytes > limit || uses_of_[use.block] > most_uses || trial_[use.block] != 0) continue;
        const auto bytes = static_cast<double>(block.bytes);
        if (debt < bytes * 0.5) continue;
        debt -= bytes;
        trial_[use.block] = 1;
        sum += block.bytes;
      }
      if (sum < required) {
        low = (low + high) / 2;
        continue;
      }
      high = (low + high) / 2;
      if (!found || sum < streamed) {
        found = true;
        streamed = sum;
        chosen_ = trial_;
      }
    }
    return found;
  }

  const PlanInput& input_;
  std::vector<std::uint32_t> uses_of_;
  std::vector<Bytes> sizes_;  // of the blocks that may stream, ascending
  std::vector<std::uint8_t> trial_;
  std::vector<std::uint8_t> chosen_;
  Bytes weights_ = 0;
  Bytes largest_ = 0;
  Nanos compute_ = 0;
  std::size_t candidates_ = 1;
};

Choice best_choice(Search& search, const PlanInput& input, Bytes budget, std::size_t candidates) {
  if (search.weights() <= budget) {
    Choice all;
    all.streams = search.nothing_streams();
    return search.evaluated(std::move(all));
  }
  if (input.policy == Policy::kLru) return search.everything_streams(budget);
  Choice tail = search.tail(budget);
  if (input.policy == Policy::kTail && tail.time != base::kNever) return tail;
  Choice best = search.scatter(budget, candidates);
  if (tail.time < best.time) best = std::move(tail);
  if (best.time == base::kNever || candidates > 100) {
    for (const double factor : {1.0, 1.5, 2.0, 3.0}) {  // blocks that are used more than once may stream too
      const auto ring = static_cast<Bytes>(factor * static_cast<double>(search.largest()));
      Choice choice;
      if (ring > budget || !search.candidate(budget, search.largest(), ring, ~std::uint32_t{0}, choice)) continue;
      if (choice.time < best.time) best = std::move(choice);
    }
  }
  Choice all = search.everything_streams(budget);
  if (best.streams.empty()) return all;
  return all.time < best.time ? all : best;  // of two equals, the one that copies less
}

// A plan may take `percent` more than the best one, but no more than 0.4 % over the policies that it is compared with
// (the promise is 0.5 %).
Nanos within(const Search& search, const PlanInput& input, Nanos best, Nanos percent) {
  const Nanos peers = std::min(search.tail(input.budget).time, search.everything_streams(input.budget).time);
  const Nanos limit = best + best * percent / 100;
  return peers == base::kNever ? limit : std::max(best, std::min(limit, peers + peers / 250));
}

// DESIGN.md: the smallest set whose pass is within 1 % of the best.
constexpr Nanos kSufficientPercent = 1;
// A plan in force stays while it is within this much of the best: changing it costs copies. More than 1 % because a
// first plan, made before anything was measured, is typically 1 to 1.7 % off (docs/planning.md).
constexpr Nanos kKeepPercent = 2;

// The smallest choice whose pass is as good as the best one's: what lies above it is reclaimable at no cost. First the
// smallest budget that suffices, then, within a little more room, the one that keeps the fewest blocks resident.
Choice smallest_sufficient(Search& search, const PlanInput& input, const Choice& best) {
  const Nanos good_enough = within(search, input, best.time, kSufficientPercent);
  const std::size_t candidates = std::min<std::size_t>(search.candidates(), 60);
  if (input.policy != Policy::kScatter || candidates < 8) return best;  // huge: there is time for one search only
  Choice result = best;
  Bytes low = search.largest();
  Bytes high = std::min(input.budget, search.weights());
  for (int round = 0; round < 8 && low < high; ++round) {
    const Bytes middle = round_up((low + high) / 2, kGrain);
    Choice trial = best_choice(search, input, middle, candidates);
    if (trial.time <= good_enough) {
      result = std::move(trial);
      high = middle;
    } else {
      low = middle + kGrain;
    }
  }
  Bytes resident = high - std::min(high, result.ring);
  for (const Bytes percent : {100, 110, 125, 150}) {
    const Bytes budget = round_down(std::min(input.budget, high / 100 * percent), kGrain);
    Choice trial = search.fewest_resident(budget, candidates, good_enough);
    const Bytes kept = budget - std::min(budget, trial.ring);
    if (trial.time > good_enough || kept >= resident) continue;
    resident = kept;
    result = std::move(trial);
  }
  return result;
}

}  // namespace

Plan make_plan(const PlanInput& given) {
  PlanInput input = given;
  std::vector<PlanUse> assumed;
  Nanos compute = 0;
  for (const PlanUse& use : input.uses) compute += use.compute;
  if (compute == 0) {
    // Nothing measured yet: compute as long as the transfer, spread as the caller expects, else by bytes (linear layers
    // do follow their bytes).
    assumed.assign(input.uses.begin(), input.uses.end());
    const double expected = std::accumulate(input.expected_cost.begin(), input.expected_cost.end(), 0.0);
    const bool told = expected > 0 && input.expected_cost.size() == assumed.size();
    for (std::size_t u = 0; u < assumed.size(); ++u) {
      const double share = told ? input.expected_cost[u] / expected * 1e12
                                : static_cast<double>(input.blocks[assumed[u].block].bytes) / input.link_bytes_per_ns;
      assumed[u].compute = static_cast<Nanos>(share);
    }
    input.uses = assumed;
    const Nanos total = std::accumulate(assumed.begin(), assumed.end(), Nanos{0},
                                        [](Nanos sum, const PlanUse& use) { return sum + use.compute; });
    const Nanos bound = std::max<Nanos>(1, pass_bound({input.blocks, {}, input.budget, input.link_bytes_per_ns}, 0));
    const double scale = static_cast<double>(bound) / static_cast<double>(std::max<Nanos>(total, 1));
    for (PlanUse& use : assumed) use.compute = static_cast<Nanos>(static_cast<double>(use.compute) * scale);
  }
  Search search(input);
  const Choice best = best_choice(search, input, input.budget, search.candidates());
  const bool measured = compute != 0;
  if (!measured || best.time == base::kNever) {  // nothing to weigh, or a budget under the floor
    Plan plan = lay_out(input, best, {}, nullptr);
    if (!measured) plan.predicted = 0;
    return plan;
  }
  const Choice needed = smallest_sufficient(search, input, best);
  const Nanos keep_limit = within(search, input, best.time, kKeepPercent);
  Plan plan;
  if (std::optional<Plan> kept = keep_current(input, needed, keep_limit)) {
    plan = std::move(*kept);
  } else {
    // The quickest of a few layouts; of those within 0.5 % of it, the one that copies least, the change included.
    const Plan* current = input.current;
    const bool comparable = current != nullptr && current->blocks.size() == input.blocks.size();
    std::vector<Plan> plans;
    plans.push_back(lay_out(input, needed, {}, nullptr));
    plans.push_back(lay_out(input, needed, best.streams, nullptr));
    if (search.weights() <= input.budget) plans.assign(1, lay_out(input, best, {}, nullptr));
    if (comparable) {
      std::vector<std::uint8_t> streams(input.blocks.size());
      for (std::size_t i = 0; i < streams.size(); ++i) streams[i] = current->blocks[i].home == kNowhere ? 1 : 0;
      plans.push_back(lay_out(input, needed, streams, current));
      plans.push_back(lay_out(input, needed, best.streams, current));
      plans.push_back(lay_out(input, best, streams, current));
    }
    if (comparable && input.policy == Policy::kScatter &&
        current->ring + current->needed + current->cached <= input.budget) {
      // Good enough to stay and next to nothing to copy: this one wins if there is one.
      Choice nearby;
      const Nanos wanted = std::min(keep_limit, best.time + best.time / 100);
      nearby.streams = exchanged(input, wanted, keep_limit, 6 * search.candidates());
      nearby.ring = current->ring;
      if (!nearby.streams.empty()) plans.assign(1, lay_out(input, nearby, {}, current));
    }
    Nanos quickest = base::kNever;
    for (const Plan& candidate : plans) quickest = std::min(quickest, candidate.predicted);
    const Plan* chosen = &plans.front();
    bool first = true;
    Bytes fewest = 0;
    for (const Plan& candidate : plans) {
      if (quickest == base::kNever || candidate.predicted > quickest + quickest / 200) continue;
      const Bytes copies = candidate.streamed_per_pass + (comparable ? change(input, *current, candidate) : 0);
      if (!first && copies >= fewest) continue;
      first = false;
      chosen = &candidate;
      fewest = copies;
    }
    plan = *chosen;
  }
  Bytes sufficient = needed.ring;
  for (std::size_t i = 0; i < input.blocks.size(); ++i) {
    if (needed.streams[i] == 0) sufficient += input.blocks[i].bytes;
  }
  plan.reclaimable = input.budget - std::min(input.budget, sufficient);
  return plan;
}

}  // namespace tidegate::pager
