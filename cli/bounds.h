// The bounds that a pass is measured against. One definition, used everywhere.
#pragma once

#include "tidegate/bytes.h"

namespace tidegate::cli {

struct BoundInputs {
  Bytes weights = 0;           // W: the model's bytes, as blocks
  Bytes budget = 0;            // as asked
  Bytes frame_bytes = 0;       // 0: no frames
  Bytes largest_streamed = 0;  // by the plan in force
  Bytes missing = 0;           // bytes not resident at the pass's start
  double compute_seconds = 0;
  double link_bytes_per_second = 1;
};

struct Bounds {
  double plain = 0;  // max(compute, (W - budget) / link)
  double grain =
      0;  // max(compute, (W - B + g) / link), B the budget in whole frames, g twice the largest streamed block
  double cold = 0;  // max(compute, missing / link): for a model's first pass after a swap
};

Bounds bounds_of(const BoundInputs& inputs);

// The frame that a run takes for a budget: small budgets are cut into about 64; 0: the pager's own choice.
Bytes frame_for(Bytes budget);

// The budget in whole frames.
Bytes whole_frames(Bytes budget, Bytes frame_bytes);

}  // namespace tidegate::cli
