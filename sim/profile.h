// A card profile: the numbers that make a simulated card behave as one particular card, driver and system.
//
// Profiles are JSON files (sim/profiles, compiled in). Each group says where its numbers come from ("source") and which
// of them are assumptions ("assumed"). Costs are affine in the size of the call; nothing is keyed by a size.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/rules.h"
#include "sim/vidmm/parameters.h"
#include "src/base/executor.h"
#include "src/driver/function_id.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::sim {

// The mean cost of a call. One call in fifty is slow and takes `slow_factor` times that (A.4: its 99th percentile); the
// others take so much less.
struct CallCost {
  double base_ns = 0;
  double per_mib_ns = 0;
  double slow_factor = 1;

  static constexpr double kSlowShare = 0.02;
  base::Nanos of(Bytes bytes, std::uint64_t times = 1) const;
  // What to multiply a call's cost by; `draw`: evenly from [0, 1).
  double factor(double draw) const {
    return draw < kSlowShare ? slow_factor : (1 - kSlowShare * slow_factor) / (1 - kSlowShare);
  }
};

struct Profile {
  std::string name;
  std::string personality;  // "linux", "wddm", "mcdm" (the same with another name) or "tcc" (as linux: W-46)
  Rules rules;

  // device
  std::string device_name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  int driver_version = 0;  // as cuDriverGetVersion: 13000 is CUDA 13.0
  std::string driver_release;

  // memory
  Bytes total = 0;     // what NVML calls total
  Bytes reserved = 0;  // kept by driver and firmware; CUDA's total is total - reserved
  Bytes context = 0;   // what one context takes
  Bytes granularity = 0;
  double vram_gb_per_s = 0;

  // link
  double h2d_gb_per_s = 0;
  double d2h_gb_per_s = 0;
  double pageable_h2d_gb_per_s = 0;
  double pageable_d2h_gb_per_s = 0;
  base::Nanos copy_latency_ns = 0;  // per copy, on its engine

  // compute
  base::Nanos kernel_latency_ns = 0;  // added to kernels whose time follows from their bytes, to fills and D2D copies
  std::size_t launch_queue_depth = 0;

  // wddm: where the video memory manager of Windows is at work
  vidmm::Parameters wddm;

  // faults: how often a call that makes a handle answers OUT_OF_MEMORY for no reason of its own (C-1)
  double out_of_memory_probability = 0;

  // host_api: what a call costs its caller
  CallCost default_cost;
  std::array<CallCost, driver::kFunctionCount> costs;

  // Whether this card has that memory manager.
  bool managed_by_windows() const {
    return personality == "wddm" || personality == "mcdm" || (personality == "tcc" && !rules.on(46));
  }
  Bytes cuda_total() const { return total - reserved; }
  const CallCost& cost(driver::FunctionId id) const { return costs[static_cast<std::size_t>(id)]; }

  // The time to move `bytes` at `gb_per_s` (10^9 bytes per second), rounded to the nearest nanosecond.
  static base::Nanos transfer_ns(Bytes bytes, double gb_per_s);
};

// By the name of a compiled-in profile, or by the path of a file, with `changes` on top: each "group.key=value", the
// value as in JSON ("wddm.budget.idle_fraction=0.9", "rules.W-31=false"). A file may name another profile in
// "extends" and hold only what differs. Errors are one line naming file and key: unknown keys, missing keys and absurd
// values are refused.
Result<Profile> load_profile(const std::string& name_or_path, const std::vector<std::string>& changes = {});

// The same from text; `where` stands for the file in messages.
Result<Profile> parse_profile(const std::string& json, const std::string& where);

}  // namespace tidegate::sim
