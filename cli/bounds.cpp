#include "cli/bounds.h"

#include <algorithm>
#include <bit>

namespace tidegate::cli {
namespace {

double over_link(Bytes bytes, double link) { return static_cast<double>(bytes) / link; }

Bytes beyond(Bytes weights, Bytes room) { return weights > room ? weights - room : 0; }

}  // namespace

Bytes frame_for(Bytes budget) {
  constexpr Bytes kFrames = 64;
  constexpr Bytes kSmallestFrame = 2 * kMiB;  // the driver's granularity
  constexpr Bytes kSmallBudget = kGiB;        // from here on the pager's own choice is small enough
  if (budget >= kSmallBudget) return 0;
  return std::max(kSmallestFrame, std::bit_floor(budget / kFrames));
}

Bytes whole_frames(Bytes budget, Bytes frame_bytes) {
  return frame_bytes == 0 ? budget : round_down(budget, frame_bytes);
}

Bounds bounds_of(const BoundInputs& in) {
  const double link = in.link_bytes_per_second;
  const Bytes grain = 2 * in.largest_streamed;
  const Bytes room = whole_frames(in.budget, in.frame_bytes);
  Bounds bounds;
  bounds.plain = std::max(in.compute_seconds, over_link(beyond(in.weights, in.budget), link));
  const Bytes streamed = in.weights > room ? in.weights - room + grain : 0;  // what fits needs no ring
  bounds.grain = std::max(in.compute_seconds, over_link(streamed, link));
  bounds.cold = std::max(in.compute_seconds, over_link(in.missing, link));
  return bounds;
}

}  // namespace tidegate::cli
