// Passes over a model larger than its budget: through the pager, by a good hand-written prefetcher, all resident.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/kit.h"
#include "bench/gpu/layer_work.h"
#include "bench/gpu/record.h"
#include "tidegate/pager.h"

namespace tidegate::bench {

// What a pass reads: layers by index, in order; may differ from pass to pass.
using Order = std::function<std::vector<std::uint32_t>(std::size_t pass)>;

struct Load {
  std::string name;
  std::vector<Bytes> layers;          // whole columns of kBytesPerColumn
  std::vector<std::size_t> models{};  // where each model's layers begin; one model: {0}
  Order order{};
  const PinnedWeights* host = nullptr;  // layers share it: the link does not care whose bytes they are

  Bytes bytes() const;
  Bytes largest() const;
};

struct PassTimes {
  Samples seconds;                   // from a pass's start to the next one's, back to back
  std::vector<double> cold_seconds;  // of the first pass
  Bytes copied = 0;                  // bytes a pass, the mean of those measured
  Bytes peak_held = 0;
  Bytes frame_bytes = 1;            // the grain of the budget
  ModelStats plan;                  // of the first model, at the end
  std::uint64_t mapping_calls = 0;  // during the measured passes
  std::uint64_t waits = 0;
};

struct PassOptions {
  Bytes budget = 0;
  Policy policy = Policy::kScatter;
  int warm_up = 6;  // the first pass is learned, the plan from measured times follows within a few
  int passes = 7;
};

PassTimes passes_through_pager(Card& card, const Load& load, LayerWork& work, const PassOptions& options);

// Keeps the first layers in plain memory and copies the others into a ring of two on a second stream, ahead of time:
// what a careful program does by hand. The ring is part of the budget. Layers of one size only.
PassTimes passes_by_hand(Card& card, const Load& load, LayerWork& work, const PassOptions& options);

// Every layer's own time on the card with its weights there, median of `rounds`, nanoseconds.
std::vector<double> compute_times(Card& card, const Load& load, LayerWork& work, int rounds = 5);

}  // namespace tidegate::bench
