// One world: a simulated card, a pager and a few callers that do everything the interface allows, in an order, with
// sizes, budgets and driver faults that one seed decides.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/virtual_executor.h"
#include "tests/support/checked_stream.h"
#include "tests/support/seeded_model.h"
#include "tests/support/test_card.h"
#include "tidegate/pager.h"

namespace tidegate::property {

// What kind of world; the seed decides the rest.
struct Shape {
  const char* name = "";
  unsigned most_threads = 1;
  bool faults = false;
  Mode mode = Mode::kDynamic;
  bool trace = false;
  bool real_granularity = false;  // 2 MiB frames and weights to match, else 64 KiB and up
};

// Prints one line with the seed and how to run it again, and ends the process: used where threads are stuck.
[[noreturn]] void stop_world(const Shape& shape, std::uint64_t seed, const std::string& why);
std::string describe(const Shape& shape, std::uint64_t seed, const std::string& why);

class World {
 public:
  World(const Shape& shape, std::uint64_t seed);
  ~World();

  // Answers the first violation, else "".
  std::string run();
  std::string trace() const { return card_->machine().trace(); }
  std::uint64_t checked_uses() const { return checked_uses_; }

 private:
  friend class Actor;
  class Watchdog;

  void choose_faults();
  std::string create();
  std::string add_models();
  std::string finish();
  std::vector<Bytes> random_sizes(base::Random& random, std::size_t count) const;

  // Called by actors.
  void fail(const std::string& why) {
    if (error_.empty()) error_ = why;
  }
  bool failed() const { return !error_.empty(); }
  void check_invariants();
  void set_budget(Bytes budget, bool must_work);
  void watch_excess();
  Bytes whole_frames(Bytes bytes) const { return bytes / frame_ * frame_; }
  // An error that a faulty driver may bring about.
  bool excused(const Error& error) const;

  const Shape shape_;
  const std::uint64_t seed_;
  base::Random random_;
  base::VirtualExecutor executor_;
  std::unique_ptr<testkit::TestCard> card_;
  driver::CheckKernels kernels_;
  Bytes frame_ = 0;
  Bytes largest_weight_ = 0;
  Bytes largest_set_ = 0;  // of any lease that actors ask for
  Bytes small_weight_ = 0;
  Bytes floor_ = 0;  // with the largest lease set
  Bytes first_budget_ = 0;
  Bytes most_budget_ = 0;
  std::size_t threads_ = 1;
  std::size_t passes_ = 2;
  bool budgets_move_ = false;
  bool priorities_ = false;
  bool mapping_faults_ = false;  // the driver may refuse frames: the ceiling may fall below the floor
  std::vector<std::unique_ptr<testkit::SeededModel>> models_;
  std::unique_ptr<Pager> pager_;
  std::string error_;
  std::uint64_t progress_ = 0;
  std::uint64_t checked_uses_ = 0;
  unsigned setting_budget_ = 0;
  std::uint64_t budget_generation_ = 0;
  std::uint64_t excess_generation_ = 0;
  Bytes excess_ = 0;
};

}  // namespace tidegate::property
