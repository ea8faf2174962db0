// One caller of a world: runs passes over models and, in between, everything else that the interface allows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/property/world.h"

namespace tidegate::property {

class Actor {
 public:
  Actor(World& world, std::uint64_t seed) : world_(world), random_(seed) {}
  void run();

 private:
  using Block = testkit::SeededModel::Block;
  struct Held {
    Lease lease;
    std::size_t stream;
  };

  enum class Order { kCyclic, kShuffled, kSubset, kTwice, kRandom, kKinds };
  void pass(testkit::SeededModel& model);
  std::vector<std::vector<std::size_t>> steps(const testkit::SeededModel& model);
  void step(testkit::SeededModel& model, const std::vector<std::size_t>& blocks);
  // Held: the lease. Not held: the world failed.
  Lease take(const std::vector<BlockId>& ids, Bytes bytes, std::size_t stream);
  void use(const testkit::SeededModel& model, const Lease& lease, std::size_t stream);
  void extend(testkit::SeededModel& model, Lease& lease, std::size_t stream);
  void release_all();
  void meddle();
  void private_model();
  void change_budget();
  void replace_stream();
  bool chance(std::uint64_t of) { return random_.below(of) == 0; }

  World& world_;
  base::Random random_;
  std::unique_ptr<testkit::CheckedStreams> streams_;
  std::vector<Held> held_;
  Order order_ = Order::kCyclic;
  std::size_t most_blocks_ = 1;
  std::uint64_t meddle_odds_ = 8;
  std::uint64_t nest_odds_ = 8;
};

}  // namespace tidegate::property
