#include "tests/property/actor.h"

#include <algorithm>

namespace tidegate::property {

using testkit::SeededModel;

void Actor::run() {
  if (world_.card_->raw().ctx_set_current(world_.card_->context()) != cu::kSuccess) world_.fail("no context");
  streams_ = std::make_unique<testkit::CheckedStreams>(world_.card_->raw(), world_.kernels_, 1 + random_.below(2), 64);
  order_ = static_cast<Order>(random_.below(static_cast<std::uint64_t>(Order::kKinds)));
  most_blocks_ = chance(2) ? 1 : 1 + random_.below(5);
  meddle_odds_ = 3 + random_.below(20);
  nest_odds_ = chance(2) ? 6 : 1000;
  const bool alternates = chance(2);
  const std::size_t first = random_.below(world_.models_.size());
  for (std::size_t p = 0; p < world_.passes_ && !world_.failed(); ++p) {
    pass(*world_.models_[(first + (alternates ? p : 0)) % world_.models_.size()]);
  }
  release_all();
  if (const std::string error = streams_->verify(); !error.empty()) world_.fail(error);
  world_.checked_uses_ += streams_->checked();
  for (std::size_t i = 0; i < streams_->count(); ++i) world_.pager_->forget_stream(streams_->stream(i));
  streams_.reset();
  ++world_.progress_;
}

std::vector<std::vector<std::size_t>> Actor::steps(const SeededModel& model) {
  std::vector<std::size_t> order(model.blocks().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto shuffle = [&] {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
  };
  if (order_ == Order::kShuffled) shuffle();
  if (order_ == Order::kSubset) {
    std::erase_if(order, [&](std::size_t) { return chance(2); });
  }
  if (order_ == Order::kRandom) {
    for (std::size_t& index : order) index = random_.below(model.blocks().size());
  }
  std::vector<std::vector<std::size_t>> made;
  for (std::size_t i = 0; i < order.size();) {
    std::vector<std::size_t> set;
    Bytes bytes = 0;
    const std::size_t size = 1 + random_.below(most_blocks_);
    while (i < order.size() && set.size() < size) {
      const Bytes more = model.blocks()[order[i]].bytes;
      if (!set.empty() && bytes + more > world_.largest_set_) break;
      bytes += more;
      set.push_back(order[i++]);
    }
    if (chance(20)) set.push_back(set[0]);  // the same block twice in one lease
    made.push_back(set);
    if (order_ == Order::kTwice) made.push_back(set);
  }
  return made;
}

void Actor::pass(SeededModel& model) {
  if (!chance(3)) world_.pager_->begin_pass(model.id());
  for (const std::vector<std::size_t>& blocks : steps(model)) {
    if (world_.failed()) return;
    step(model, blocks);
    if (chance(meddle_odds_)) meddle();
  }
  if (chance(2)) world_.pager_->end_step(streams_->stream(0));
}

void Actor::step(SeededModel& model, const std::vector<std::size_t>& blocks) {
  const std::size_t stream = random_.below(streams_->count());
  std::vector<BlockId> ids;
  Bytes bytes = 0;
  for (const std::size_t index : blocks) {
    const Block& block = model.blocks()[index];
    if (std::find(ids.begin(), ids.end(), block.id) == ids.end()) bytes += block.bytes;
    ids.push_back(block.id);
  }
  Lease lease = take(ids, bytes, stream);
  if (!lease.held()) return;
  use(model, lease, stream);
  if (chance(6)) extend(model, lease, stream);
  if (chance(4)) world_.executor_.spend(static_cast<base::Nanos>(random_.below(200 * base::kMicrosecond)));
  if (chance(nest_odds_)) {
    held_.push_back({std::move(lease), stream});
    if (held_.size() > 3) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(random_.below(held_.size())));
  } else if (chance(2)) {
    lease.release();
  }
  if (chance(4)) world_.check_invariants();
}

Lease Actor::take(const std::vector<BlockId>& ids, Bytes bytes, std::size_t stream) {
  for (int attempt = 0; attempt < 400 && !world_.failed(); ++attempt) {
    const Bytes before = world_.pager_->stats().budget;
    const std::uint64_t generation = world_.budget_generation_;
    Result<Lease> lease = world_.pager_->lease(ids, streams_->stream(stream));
    ++world_.progress_;
    if (lease) {
      if (lease->size() != ids.size()) world_.fail("a lease of another size than asked for");
      return std::move(lease).value();
    }
    const Error& error = lease.error();
    if (chance(4)) world_.check_invariants();
    if (error.code == Errc::kWouldDeadlock) {
      if (held_.empty()) world_.fail("kWouldDeadlock for a caller that holds nothing");
      release_all();
    } else if (error.code == Errc::kBelowFloor) {
      const bool moved = world_.budget_generation_ != generation;
      if (!moved && !world_.mapping_faults_ && bytes <= world_.whole_frames(before)) {
        world_.fail("I3: a lease of " + std::to_string(bytes) + " bytes does not fit in " + std::to_string(before) +
                    ": " + error.message);
      }
      if (world_.shape_.mode == Mode::kDynamic) world_.set_budget(world_.first_budget_, true);
    } else if (!world_.excused(error)) {
      world_.fail("lease: " + error.message);
    } else {
      world_.executor_.spend(100 * base::kMicrosecond);
    }
  }
  world_.fail("400 attempts and no lease");
  return {};
}

void Actor::use(const SeededModel& model, const Lease& lease, std::size_t stream) {
  for (std::size_t i = 0; i < lease.size(); ++i) {
    const auto block = std::find_if(model.blocks().begin(), model.blocks().end(),
                                    [&](const Block& candidate) { return candidate.id == lease.block(i); });
    if (block == model.blocks().end()) return world_.fail("a lease of other blocks than asked for");
    const std::size_t first = random_.below(block->weights.size());
    for (std::size_t k = 0; k < std::min<std::size_t>(2, block->weights.size()); ++k) {
      const testkit::SeededWeight& weight = model.weights()[block->weights[(first + k) % block->weights.size()]];
      const std::string error = streams_->use(stream, lease.address(i) + weight.place.offset, weight);
      if (!error.empty()) world_.fail(error);
    }
    if (chance(2)) streams_->work(stream, lease.address(i), block->used, random_.below(300 * base::kMicrosecond));
  }
}

void Actor::extend(SeededModel& model, Lease& lease, std::size_t stream) {
  const std::size_t before = lease.size();
  const Block& block = model.blocks()[random_.below(model.blocks().size())];
  const auto extended = lease.extend({&block.id, 1});
  if (extended) {
    if (lease.size() != before + 1 || lease.block(before) != block.id) world_.fail("extend added something else");
  } else {
    const Errc code = extended.error().code;
    if (code != Errc::kOutOfMemory && !world_.excused(extended.error())) {
      world_.fail("extend: " + extended.error().message);
    }
    if (lease.size() != before) world_.fail("a failed extend changed the lease");
  }
  use(model, lease, stream);
}

void Actor::release_all() {
  while (!held_.empty()) {
    const std::size_t index = random_.below(held_.size());
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

void Actor::meddle() {
  switch (random_.below(9)) {
    case 0:
    case 1:
    case 2:
      if (world_.budgets_move_) change_budget();
      break;
    case 3:
      replace_stream();
      break;
    case 4:
      private_model();
      break;
    case 5:
      world_.pager_->end_step(streams_->stream(random_.below(streams_->count())));
      break;
    case 6:
      if (world_.threads_ == 1) {
        if (world_.card_->raw().ctx_synchronize() != cu::kSuccess) world_.fail("the context is broken");
        world_.pager_->declare_idle();
      } else {
        world_.executor_.sleep_until(world_.executor_.now() +
                                     static_cast<base::Nanos>(random_.below(2 * base::kMillisecond)));
      }
      break;
    case 7:
      world_.pager_->begin_pass(world_.models_[random_.below(world_.models_.size())]->id());
      break;
    default:
      if (chance(4)) release_all();
      if (const std::string error = streams_->verify(); !error.empty()) world_.fail(error);
  }
  world_.check_invariants();
}

void Actor::change_budget() {
  const Bytes budget = chance(4) ? world_.floor_ : random_.below(world_.most_budget_ * 5 / 4);
  world_.set_budget(budget, false);
}

void Actor::replace_stream() {
  const std::size_t index = random_.below(streams_->count());
  std::erase_if(held_, [&](const Held& held) { return held.stream == index; });
  world_.pager_->forget_stream(streams_->stream(index));
  streams_->replace(index);
}

// A model of this caller alone comes, is used, and goes with its host memory.
void Actor::private_model() {
  const std::uint64_t contents = random_.next();
  const std::size_t weights = 1 + random_.below(6);
  const std::vector<Bytes> sizes = world_.random_sizes(random_, weights);
  const bool pinned = chance(2);
  SeededModel model(world_.card_->raw(), contents, sizes, pinned);
  auto added =
      world_.pager_->add_model(model.spec("private", world_.priorities_ ? static_cast<int>(random_.below(4)) : 0));
  if (!added) {
    const bool small = added.error().code == Errc::kBelowFloor &&
                       2 * world_.largest_weight_ > world_.whole_frames(world_.pager_->stats().budget);
    if (!small && !world_.excused(added.error())) world_.fail("add_model: " + added.error().message);
    return;
  }
  model.added(*world_.pager_, *added);
  for (std::size_t i = 0; i < 4 && !world_.failed(); ++i) step(model, {random_.below(model.blocks().size())});
  release_all();
  if (const std::string error = streams_->verify(); !error.empty()) world_.fail(error);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto removed = world_.pager_->remove_model(*added);
    if (removed) return;
    if (!world_.excused(removed.error())) return world_.fail("remove_model: " + removed.error().message);
  }
}

}  // namespace tidegate::property
