#include "cli/runner.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cli/bounds.h"
#include "cli/host_plan.h"
#include "cli/interrupt.h"
#include "cli/quantities.h"
#include "src/base/system_info.h"
#include "src/share/sensor.h"

namespace tidegate::cli {
namespace {

constexpr double kUsableHostShare = 0.8;  // of what the system calls available
constexpr Bytes kPartsOfBudget = 16;      // a tensor of a file is used in parts of at most the budget over this

std::size_t most_uses(const Workflow& workflow) {
  std::size_t most = 0;
  for (const Model& model : workflow.models) most = std::max(most, model.uses.size());
  return most;
}

}  // namespace

Runner::Runner(const RunOptions& options, Workflow workflow, ChosenCard chosen, Progress& progress)
    : options_(options),
      workflow_(std::move(workflow)),
      chosen_(std::move(chosen)),
      progress_(progress),
      driver_(chosen_.card->driver()),
      stream_(driver_),
      events_(driver_),
      sums_(driver_),
      sums_host_(driver_) {}

Runner::~Runner() { tear_down(); }

Result<RunRecord> Runner::run() {
  if (auto ready = prepare(); !ready) return ready.error();
  for (std::size_t step = 0; step < workflow_.steps.size(); ++step) {
    if (auto done = run_step(step); !done) return done.error();
  }
  if (auto sound = pager_->check_invariants(); !sound) return sound.error();
  record_.pager = pager_->stats();
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i]) record_.models[i].stats = pager_->model_stats(*ids_[i]);
  }
  tear_down();
  collect_hazards();
  return record_;
}

Result<void> Runner::prepare() {
  if (auto current = chosen_.card->make_current(); !current) return current;
  record_.options = options_;
  record_.workflow = &workflow_;
  record_.simulated = chosen_.sim != nullptr;
  record_.card = chosen_.card->name();
  record_.driver = driver_.description();
  record_.why = chosen_.why;
  const bool has_file = std::any_of(workflow_.models.begin(), workflow_.models.end(),
                                    [](const Model& model) { return model.file != nullptr; });
  record_.bytes = options_.bytes.value_or(record_.simulated && !has_file ? BytesMode::kTags : BytesMode::kReal);
  if (record_.bytes == BytesMode::kTags && (has_file || !record_.simulated)) {
    return Error{Errc::kInvalidArgument, has_file ? "--bytes tags: a safetensors file has bytes of its own"
                                                  : "--bytes tags: only the simulated card knows tags"};
  }
  decide_scale();
  scale_workflow(workflow_, record_.scale);

  auto kernels = driver::CheckKernels::load(driver_);
  if (!kernels) return kernels.error();
  kernels_ = kernels.value();
  progress_.note(fmt::format("{}: {}; mode {}", record_.card, record_.why, name_of(options_.mode)));
  auto calibration = calibrate(chosen_, kernels_, options_.tflops.value_or(0));
  if (!calibration) return calibration.error();
  record_.calibration = std::move(calibration).value();
  if (auto decided = decide_budget(); !decided) return decided;
  const Bytes part = std::max(round_down(record_.budget / kPartsOfBudget, 4 * kKiB), 64 * kKiB);
  if (const std::size_t cut = cut_file_weights(workflow_, part); cut > 0) {
    progress_.note(fmt::format("{} tensors are larger than {}, a sixteenth of the budget: used in parts of that size",
                               cut, format_size(part)));
  }
  if (auto made = make_buffers(); !made) return made;

  auto pager = Pager::create(*chosen_.card, {.budget = record_.budget,
                                             .mode = options_.mode,
                                             .policy = options_.policy,
                                             .frame_bytes = frame_for(record_.budget),
                                             .leaving = options_.leaving});
  if (!pager) return pager.error();
  pager_ = std::move(pager).value();
  staged_.resize(workflow_.models.size());
  ids_.resize(workflow_.models.size());
  record_.models.resize(workflow_.models.size());
  for (std::size_t i = 0; i < workflow_.models.size() && !record_.one_at_a_time; ++i) {
    if (auto done = stage(i); !done) return done;
  }
  return {};
}

void Runner::decide_scale() {
  record_.scale = options_.scale;
  const bool has_file = workflow_.models.front().file != nullptr;
  if (record_.bytes != BytesMode::kReal || has_file) return;
  base::HostMemory memory = base::available_host_memory();
  auto usable = static_cast<Bytes>(static_cast<double>(memory.available) * kUsableHostShare);
  if (options_.host_memory) {
    usable = *options_.host_memory;
    memory = {usable, "--host-memory"};
  }
  if (usable == 0) return;
  const Bytes card_bytes = record_.simulated ? options_.vram.value_or(chosen_.card->total_bytes()) : 0;
  const HostPlan plan = plan_host(workflow_, options_.scale, usable, card_bytes);
  record_.scale = plan.scale;
  record_.one_at_a_time = plan.one_at_a_time;
  const std::string shortage =
      fmt::format("host memory is short ({} by {})", format_size(memory.available), memory.source);
  if (plan.scale < options_.scale) {
    progress_.note(fmt::format("{}: the scale falls from {} to {}", shortage, options_.scale, plan.scale));
  }
  if (plan.one_at_a_time) progress_.note(shortage + ": models are staged one at a time");
}

Result<void> Runner::decide_budget() {
  if (options_.vram) {
    record_.budget = *options_.vram;
    record_.budget_source = "as asked";
    return {};
  }
  // A simulated card answers as on the system that it plays, not as on this one.
  const bool windows = chosen_.sim != nullptr && chosen_.sim->profile().managed_by_windows();
  const std::string kernel = chosen_.sim != nullptr ? std::string("simulated") : base::kernel_release();
  const auto reading = share::driver_sensor(driver_, share::blindness_prior(windows, false, kernel))->read();
  if (!reading) return reading.error();
  const Bytes allowance = standing_allowance(chosen_.card->total_bytes());
  const Bytes free_bytes = reading.value().free;
  if (free_bytes <= allowance) {
    return Error{Errc::kBelowFloor,
                 fmt::format("the card has {} free, and a standing allowance of {} is kept for others: name a budget "
                             "with --vram, or close other programs",
                             format_size(free_bytes), format_size(allowance))};
  }
  record_.budget = static_cast<Bytes>(static_cast<double>(free_bytes - allowance) * record_.scale);
  record_.budget_source = fmt::format("{} free by cuMemGetInfo ({}), less a standing allowance of {}",
                                      format_size(free_bytes), reading.value().why, format_size(allowance));
  if (record_.scale < 1) record_.budget_source += fmt::format(", times the scale {}", record_.scale);
  return {};
}

Result<void> Runner::make_buffers() {
  if (auto made = stream_.create(); !made) return made;
  const std::size_t uses = most_uses(workflow_);
  if (auto made = events_.grow(after(uses - 1) + 1); !made) return made;
  if (auto made = sums_.allocate(uses * sizeof(std::uint64_t)); !made) return made;
  return sums_host_.allocate(uses * sizeof(std::uint64_t));
}

Result<void> Runner::stage(std::size_t model) {
  const Model& source = workflow_.models[model];
  auto staged = stage_model({*chosen_.card, chosen_.sim, source, record_.bytes, options_.seed, options_.read,
                             source.file == nullptr ? ~Bytes{0} : options_.host_memory.value_or(~Bytes{0}),
                             options_.ring, progress_});
  if (!staged) return staged.error();
  ModelSpec spec;
  spec.name = source.name;
  spec.source = staged.value()->source();
  // A runtime knows its layers' FLOPs before it has run them; so does a workflow.
  std::vector<double> cost(source.weights.size(), 0);
  for (const Step& step : workflow_.steps) {
    if (step.model != model) continue;
    const std::vector<double> flops = flops_of_pass(source, step);
    for (std::size_t use = 0; use < source.uses.size(); ++use) cost[source.uses[use].weight] += flops[use];
    break;
  }
  for (std::size_t i = 0; i < source.weights.size(); ++i) {
    spec.weights.push_back({source.weights[i].name, source.weights[i].bytes, staged.value()->host(i), cost[i]});
  }
  auto id = pager_->add_model(std::move(spec));
  if (!id) {
    Error error = id.error();
    if (options_.mode == Mode::kOff && error.code == Errc::kOutOfMemory) {
      error.message += "; without paging all models must fit: leave out --mode off";
    }
    return error;
  }
  if (const double rate = staged.value()->bytes_per_second(); rate > 0) {
    record_.models[model].file_bytes_per_second = rate;
  }
  record_.models[model].how_staged = staged.value()->how();
  staged_[model] = std::move(staged).value();
  ids_[model] = id.value();
  count_blocks(model);
  return {};
}

void Runner::count_blocks(std::size_t model) {
  std::map<BlockId, std::pair<std::size_t, Bytes>> blocks;  // weights and their bytes
  const auto& weights = workflow_.models[model].weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto& [count, bytes] = blocks[pager_->place(*ids_[model], i).block];
    ++count;
    bytes += weights[i].bytes;
  }
  ModelRecord& record = record_.models[model];
  record.blocks = blocks.size();
  record.small_weights = 0;
  record.small_bytes = 0;
  for (const auto& [block, content] : blocks) {
    if (content.first < 2) continue;
    record.small_weights += content.first;
    record.small_bytes += content.second;
  }
}

void Runner::unstage(std::size_t model) {
  if (!ids_[model]) return;
  (void)pager_->remove_model(*ids_[model]);
  ids_[model].reset();
  staged_[model].reset();
}

Counters Runner::count() const {
  if (chosen_.sim == nullptr) return {};
  const sim::Stats stats = chosen_.sim->process().stats();
  using Id = driver::FunctionId;
  return {stats.mapping_calls, stats.device_syncs,
          stats.count(Id::mem_alloc) + stats.count(Id::mem_alloc_async) + stats.count(Id::mem_alloc_from_pool_async) +
              stats.count(Id::mem_host_alloc) + stats.count(Id::mem_host_register) +
              stats.count(Id::mem_address_reserve)};
}

void Runner::tear_down() {
  if (stream_.get() != nullptr) (void)stream_.synchronize();
  pager_.reset();
  staged_.clear();
  if (kernels_.module != nullptr) (void)kernels_.unload(driver_);
}

void Runner::collect_hazards() {
  if (chosen_.sim == nullptr) return;
  const sim::Hazards& hazards = chosen_.sim->machine().hazards();
  for (const sim::Hazard& hazard : hazards.list()) {
    record_.hazards.push_back({hazard.rule, hazard.exposure, sim::to_text(hazard)});
  }
  record_.hazard_count = hazards.total_hits() + hazards.total_exposures();
}

}  // namespace tidegate::cli
