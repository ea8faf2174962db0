// Whether a workflow's real bytes fit into host memory: all models at once, one at a time, or only at a smaller scale.
#pragma once

#include "cli/workflow.h"
#include "tidegate/bytes.h"

namespace tidegate::cli {

struct HostPlan {
  double scale = 1;  // at most the one asked for
  bool one_at_a_time = false;
};

// `usable`: bytes of host memory that the run may take. `card_bytes`: what a simulated card keeps of them when full; it
// shrinks with the scale. The scale is halved until the largest model fits.
HostPlan plan_host(const Workflow& workflow, double scale, Bytes usable, Bytes card_bytes);

}  // namespace tidegate::cli
