// What a run was and what it showed: plain data between the runner and the report.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/calibrate.h"
#include "cli/options.h"
#include "cli/workflow.h"
#include "tidegate/pager.h"

namespace tidegate::cli {

// What the simulated card counts of a stretch of the run.
struct Counters {
  std::uint64_t mapping_calls = 0;  // create, map, set access, unmap, release
  std::uint64_t device_syncs = 0;
  std::uint64_t allocations = 0;  // of device memory and of pinned host memory, address reservations

  Counters& operator+=(const Counters& other);
  Counters operator-(const Counters& other) const;
};

struct PassRecord {
  std::size_t step = 0;
  std::size_t model = 0;
  std::uint32_t index = 0;  // in its step
  bool cold = false;        // the first after another model's pass, or the first of all
  Bytes resident = 0;       // of the model, when the pass began
  Bytes copied = 0;         // host to device during it
  Bytes largest_streamed = 0;
  double seconds = 0;
  double compute_seconds = 0;
  double bound_plain = 0;
  double bound = 0;  // cold: by what was not resident; warm: with grain
  std::uint64_t content_errors = 0;
  Counters counters;

  double ratio_plain() const { return ratio_to(bound_plain); }
  double ratio() const { return ratio_to(bound); }

 private:
  double ratio_to(double bound_seconds) const { return bound_seconds > 0 ? seconds / bound_seconds : 1; }
};

struct HazardRecord {
  std::string rule;
  bool exposure = false;
  std::string text;
};

struct ModelRecord {
  std::string how_staged;
  double file_bytes_per_second = 0;  // measured; 0: the bytes come from host memory
  std::size_t blocks = 0;
  std::size_t small_weights = 0;  // those that share a block
  Bytes small_bytes = 0;
  ModelStats stats;
};

// What a model's bytes pass through on their way to the card: the link, or the file where that is slower.
inline double slower_leg(const Calibration& calibration, const ModelRecord& model) {
  const double link = calibration.link_bytes_per_second;
  return model.file_bytes_per_second > 0 ? std::min(link, model.file_bytes_per_second) : link;
}

struct RunRecord {
  RunOptions options;
  const Workflow* workflow = nullptr;  // as run, scaled
  bool simulated = false;
  std::string card;
  std::string driver;  // the driver's own description
  std::string why;     // this card
  double scale = 1;    // as run
  BytesMode bytes{};
  bool one_at_a_time = false;
  Bytes budget = 0;
  std::string budget_source;
  Calibration calibration;
  std::vector<ModelRecord> models;
  std::vector<PassRecord> passes;
  double elapsed_seconds = 0;  // from the first pass's start to the last one's end
  std::uint64_t checks = 0;
  std::uint64_t content_errors = 0;
  std::vector<std::string> content_error_examples;
  std::vector<HazardRecord> hazards;
  std::uint64_t hazard_count = 0;
  PagerStats pager;

  bool ok() const { return content_errors == 0 && hazard_count == 0; }
};

// Sums over the passes.
struct Totals {
  double seconds = 0;
  double compute_seconds = 0;
  double bound = 0;
  Bytes copied = 0;
  double ratio = 1;
  double worst_warm_ratio = 0;
  double worst_cold_ratio = 0;
  Counters warm;   // of warm passes
  Counters swaps;  // of cold passes but the very first
};
Totals totals_of(const RunRecord& record);

}  // namespace tidegate::cli
