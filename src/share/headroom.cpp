#include "src/share/headroom.h"

#include <algorithm>
#include <cmath>

namespace tidegate::share {

Headroom::Headroom(Bytes base, Bytes capacity, base::Nanos half_life)
    : base_(base), most_(std::max(base, capacity / 4)), half_life_(half_life) {}

Bytes Headroom::at(base::Nanos now) {
  const double halvings = static_cast<double>(now - since_) / static_cast<double>(half_life_);
  return base_ + static_cast<Bytes>(static_cast<double>(learned_) * std::exp2(-std::max(halvings, 0.0)));
}

void Headroom::spilled(base::Nanos now, Bytes bytes) {
  learned_ = std::min(at(now) - base_ + bytes, most_ - base_);
  since_ = now;
}

std::optional<double> SpillWatch::note(double work, base::Nanos duration) {
  if (work <= 0 || duration <= 0) return std::nullopt;
  const double pace = static_cast<double>(duration) / work;
  if (seen_ >= kLearn && pace > kSlow * usual_) {
    // Slow pieces teach nothing, or a long spill would become what is usual.
    return ++slow_ >= 2 ? std::optional(pace / usual_) : std::nullopt;
  }
  slow_ = 0;
  usual_ = seen_ == 0 ? pace : usual_ + (pace - usual_) / std::min(seen_ + 1, 4 * kLearn);
  ++seen_;
  return std::nullopt;
}

}  // namespace tidegate::share
