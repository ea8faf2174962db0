// Whether a reading whose scope is assumed sees other processes: judged by what it does when they are known to move.
// Pure: no sensor is read here, nothing is submitted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/share/sensor.h"

namespace tidegate::share {

// Bytes between two looks; positive: less is free.
struct Movement {
  std::int64_t fell = 0;    // the reading
  std::int64_t own = 0;     // what this process took, by its own books
  std::int64_t others = 0;  // what the others took, by the seats' books or a device-wide sensor
};

class Blindness {
 public:
  // Less than this says nothing: drift under pressure moved a blind reading by up to 80 MiB (published).
  static constexpr std::int64_t kTelling = 256 * static_cast<std::int64_t>(kMiB);

  explicit Blindness(Prior prior) : prior_(std::move(prior)) { score_ = prior_score(); }

  void observe(const Movement& movement);

  // Unknown while what was seen contradicts the prior and is not yet enough to overturn it: to be treated as blind.
  Scope scope() const { return score_ > 0 ? Scope::kDevice : score_ < 0 ? Scope::kProcess : Scope::kUnknown; }
  std::string evidence() const;

  // The jump of a blind reading that own bytes do not explain; none: it stayed within what drift explains.
  static std::optional<std::int64_t> jump(const Movement& movement);

 private:
  int prior_score() const { return prior_.scope == Scope::kDevice ? 2 : prior_.scope == Scope::kProcess ? -2 : 0; }

  const Prior prior_;
  int score_ = 0;  // -3 ... 3: each telling movement counts one, so that three in a row overturn anything
  unsigned saw_ = 0;
  unsigned missed_ = 0;
};

}  // namespace tidegate::share
