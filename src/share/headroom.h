// The bytes that stay free, learned from spills; and spills recognised by the duration of work that runs anyway.
#pragma once

#include <optional>

#include "src/base/executor.h"
#include "tidegate/bytes.h"

namespace tidegate::share {

// Grows by what was spilled, at most to a quarter of the card; falls back to its base by half in each `half_life`.
class Headroom {
 public:
  Headroom(Bytes base, Bytes capacity, base::Nanos half_life = 60 * base::kSecond);
  Bytes at(base::Nanos now);
  void spilled(base::Nanos now, Bytes bytes);

 private:
  Bytes base_;
  Bytes most_;
  base::Nanos half_life_;
  Bytes learned_ = 0;  // beyond the base, at `since_`
  base::Nanos since_ = 0;
};

// Demoted bytes cross the link: the same work took 53 times as long where it was measured (host-arbitration.md C3, 19),
// so a factor of four, twice in a row, is neither noise nor another clock. No work is submitted in order to look.
class SpillWatch {
 public:
  // `work` is any measure that is proportional to the duration: bytes copied on the card, say. Answers the factor by
  // which this piece was slower than usual when it is the second slow one in a row.
  std::optional<double> note(double work, base::Nanos duration);

 private:
  static constexpr double kSlow = 4;
  static constexpr int kLearn = 8;  // pieces before anything is called slow
  double usual_ = 0;                // nanoseconds per unit of work
  int seen_ = 0;
  int slow_ = 0;
};

}  // namespace tidegate::share
