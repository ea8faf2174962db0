#include <algorithm>

#include "src/pager/plan.h"

namespace tidegate::pager {

namespace {

// The ring as a queue of tenants in the order in which they came. Tenants leave from the front: a newcomer at
// [begin, end) overlaps only the oldest ones, because offsets advance and wrap.
class RingModel {
 public:
  struct Tenant {
    Bytes begin, end;
    Nanos released;
  };

  // The next newcomer starts at 0 again: what lies past `position` was passed over and is a lap old.
  void wrap(Bytes position) {
    while (front_ < tenants_.size() && tenants_[front_].begin >= position) ++front_;
  }

  // The time at which a copy to [begin, end) that may start at `link_free` ends.
  Nanos copy(Bytes begin, Bytes end, Nanos link_free, const PlanInput& input) {
    Nanos time = link_free;
    Bytes covered = 0;
    Nanos pieces = 0;
    while (front_ < tenants_.size()) {
      Tenant& tenant = tenants_[front_];
      if (tenant.end <= begin || tenant.begin >= end) break;
      const Bytes from = std::max(begin, tenant.begin);
      const Bytes to = std::min(end, tenant.end);
      if (tenant.released > time) {
        time = tenant.released;  // a piece of its own: the link stands idle
        ++pieces;
      }
      time += transfer(to - from, input);
      covered += to - from;
      if (tenant.end > end) {
        tenant.begin = end;
        break;
      }
      ++front_;
    }
    time += transfer(end - begin - covered, input);
    compact();
    return time + std::max<Nanos>(pieces, 1) * input.copy_cost;
  }

  void add(Bytes begin, Bytes end) { tenants_.push_back({begin, end, 0}); }
  void release_newest(std::size_t count, Nanos time) {
    for (std::size_t i = tenants_.size() - count; i < tenants_.size(); ++i) tenants_[i].released = time;
  }

 private:
  static Nanos transfer(Bytes bytes, const PlanInput& input) {
    return static_cast<Nanos>(static_cast<double>(bytes) / input.link_bytes_per_ns);
  }
  void compact() {
    if (front_ < 1024 || front_ * 2 < tenants_.size()) return;
    tenants_.erase(tenants_.begin(), tenants_.begin() + static_cast<std::ptrdiff_t>(front_));
    front_ = 0;
  }

  std::vector<Tenant> tenants_;
  std::size_t front_ = 0;
};

}  // namespace

Nanos simulate_pass(const PlanInput& input, std::span<const std::uint8_t> streams, Bytes ring) {
  constexpr int kPasses = 3;  // the first fills the ring, the second settles, the third is the answer
  RingModel model;
  Nanos link_free = 0;
  Nanos compute_free = 0;
  Nanos pass_start = 0;
  Bytes position = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    pass_start = compute_free;
    if (pass > 0) model.wrap(position);
    position = 0;
    std::size_t i = 0;
    while (i < input.uses.size()) {
      const std::uint32_t step = input.uses[i].step;
      Nanos arrived = 0;
      Nanos compute = 0;
      std::size_t copied = 0;
      Bytes step_first = kNowhere;  // where the step's first ring block lies: later ones must not wrap into it
      bool wrapped = false;
      for (; i < input.uses.size() && input.uses[i].step == step; ++i) {
        const PlanUse& use = input.uses[i];
        compute += use.compute;
        if (streams[use.block] == 0) continue;
        const Bytes bytes = input.blocks[use.block].bytes;
        if (bytes > ring) return base::kNever;
        if (position + bytes > ring) {
          model.wrap(position);
          position = 0;
          wrapped = step_first != kNowhere;
        }
        if (step_first == kNowhere) step_first = position;
        if (wrapped && position + bytes > step_first) return base::kNever;
        link_free = model.copy(position, position + bytes, link_free, input);
        model.add(position, position + bytes);
        arrived = link_free;
        position += bytes;
        ++copied;
      }
      compute_free = std::max(compute_free, arrived) + compute;
      model.release_newest(copied, compute_free);
    }
  }
  return compute_free - pass_start;
}

Nanos pass_bound(const PlanInput& input, Bytes grain) {
  Bytes weights = 0;
  Nanos compute = 0;
  for (const PlanBlock& block : input.blocks) weights += block.bytes;
  for (const PlanUse& use : input.uses) compute += use.compute;
  if (weights <= input.budget) return compute;  // everything fits: nothing is missing, the grain does not matter
  const Bytes missing = weights - input.budget + grain;
  return std::max(compute, static_cast<Nanos>(static_cast<double>(missing) / input.link_bytes_per_ns));
}

}  // namespace tidegate::pager
