// Runs a workflow on a card through the pager, checks every byte at each use, and measures.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/choose_card.h"
#include "cli/device_buffer.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/staging.h"
#include "cli/workflow.h"
#include "src/driver/kernels.h"
#include "tidegate/pager.h"

namespace tidegate::cli {

class Runner {
 public:
  // `workflow` is unscaled; the runner scales its copy.
  Runner(const RunOptions& options, Workflow workflow, ChosenCard chosen, Progress& progress);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Once. kClosed: a signal came; everything is given back in any case. The record refers to this runner's workflow.
  Result<RunRecord> run();

 private:
  Result<void> prepare();
  void decide_scale();
  Result<void> decide_budget();
  Result<void> make_buffers();
  Result<void> stage(std::size_t model);
  void unstage(std::size_t model);
  void count_blocks(std::size_t model);
  Result<void> run_step(std::size_t step);
  Result<void> run_pass(std::size_t step, std::uint32_t index);
  Result<void> submit_pass(std::size_t step, std::uint32_t index, const std::vector<std::uint64_t>& work_ns);
  Result<void> use(std::size_t model, std::size_t position, std::uint64_t work_ns);
  bool budget_swings_now() const;
  Result<void> swing_budget();
  Result<void> measure(PassRecord& pass);
  void check_contents(PassRecord& pass);
  std::vector<std::uint64_t> work_of_pass(std::size_t step) const;
  Counters count() const;
  void tear_down();
  void collect_hazards();

  std::size_t before(std::size_t position) const { return 3 + 2 * position; }  // indices into events_
  std::size_t after(std::size_t position) const { return 4 + 2 * position; }

  RunOptions options_;
  Workflow workflow_;
  ChosenCard chosen_;
  Progress& progress_;
  driver::Driver& driver_;
  RunRecord record_;
  driver::CheckKernels kernels_;
  OwnedStream stream_;
  EventPool events_;   // 0: the run's start; 1, 2: a pass's start and end; then two for each use
  DeviceBuffer sums_;  // a word for each use of a pass
  PinnedBuffer sums_host_;
  std::vector<std::unique_ptr<StagedModel>> staged_;
  std::unique_ptr<Pager> pager_;
  std::vector<std::optional<ModelId>> ids_;
  std::optional<std::size_t> current_;  // the model of the pass before
};

}  // namespace tidegate::cli
