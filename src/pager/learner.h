// Learning a pass: the order of its leases and the card time of each, by timing events on the leases' stream.
#pragma once

#include <span>
#include <vector>

#include "src/driver/driver.h"
#include "src/pager/plan.h"

namespace tidegate::pager {

// Records one pass. All methods under the pager's lock, except that the events are recorded on the caller's stream.
// A step's compute time is release - granted plus the gap from the previous release to the request: waiting for copies
// lies between request and granted and is not counted.
class Learner {
 public:
  explicit Learner(driver::Driver& driver) : driver_(driver) {}
  ~Learner();

  // A lease of these blocks (indices in the model) begins; answers the step's number.
  std::int32_t request(std::span<const std::uint32_t> blocks, cu::Stream stream);
  void granted(std::int32_t step, cu::Stream stream);
  void released(std::int32_t step, cu::Stream stream);

  // A step never happened: the order still counts, the times do not.
  void give_up_timing() { measurable_ = false; }

  std::size_t steps() const { return steps_.size(); }
  // The first block by which a pass can be told from the next: its coming round again, with others in between, ends
  // the pass.
  void first_telling(std::uint32_t block) {
    if (telling_ == kNone) telling_ = block;
  }
  bool begins_again(std::uint32_t block) const { return telling_ == block && steps_.back().first_block != block; }
  // No more steps; the pass is over.
  void finish() { finished_ = true; }
  bool finished() const { return finished_; }
  // Whether every event has passed, so that result() can be read.
  bool ready();
  // The pass in order. Compute times are all 0 if one could not be measured (two streams, a failed event).
  std::vector<PlanUse> result();

 private:
  struct Step {
    std::uint32_t first_block = 0;
    std::size_t first_use = 0;  // in uses_
    std::size_t uses = 0;
    cu::Event request = nullptr;
    cu::Event granted = nullptr;
    cu::Event released = nullptr;
  };
  cu::Event mark(cu::Stream stream);

  driver::Driver& driver_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> uses_;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t telling_ = kNone;
  cu::Stream stream_ = nullptr;
  bool measurable_ = true;
  bool finished_ = false;
  std::size_t passed_ = 0;  // steps whose last event is known to have passed
};

}  // namespace tidegate::pager
