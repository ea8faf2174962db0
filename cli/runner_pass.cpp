// One pass: lease, check, compute, release for each tensor in order of use; then what it took and whether it was right.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/runner.h"

namespace tidegate::cli {
namespace {

constexpr std::size_t kRunStart = 0;
constexpr std::size_t kPassStart = 1;
constexpr std::size_t kPassEnd = 2;
constexpr std::size_t kExamples = 5;  // content errors that are named

std::string place_of(const Workflow& workflow, std::size_t step, std::uint32_t index) {
  return fmt::format("{}: {}, pass {}/{}", workflow.steps[step].label, workflow.models[workflow.steps[step].model].name,
                     index + 1, workflow.steps[step].passes);
}

}  // namespace

Result<void> Runner::run_step(std::size_t step) {
  const std::size_t model = workflow_.steps[step].model;
  if (!ids_[model]) {
    for (std::size_t other = 0; other < ids_.size(); ++other) unstage(other);
    if (auto done = stage(model); !done) return done;
  }
  for (std::uint32_t index = 0; index < workflow_.steps[step].passes; ++index) {
    if (auto done = run_pass(step, index); !done) return done;
  }
  return {};
}

Result<void> Runner::run_pass(std::size_t step, std::uint32_t index) {
  PassRecord pass;
  pass.step = step;
  pass.model = workflow_.steps[step].model;
  pass.index = index;
  pass.cold = current_ != pass.model;
  current_ = pass.model;
  const ModelId id = *ids_[pass.model];
  const ModelStats at_start = pager_->model_stats(id);
  const Counters counted = count();
  pass.resident = at_start.resident;

  if (auto done = submit_pass(step, index, work_of_pass(step)); !done) return done;
  pass.counters = count() - counted;

  const ModelStats at_end = pager_->model_stats(id);
  pass.copied = at_end.copied - at_start.copied;
  pass.largest_streamed = at_end.largest_streamed;
  if (auto done = measure(pass); !done) return done;
  const BoundInputs inputs{.weights = at_end.bytes,
                           .budget = record_.budget,
                           .frame_bytes = pager_->stats().frame_bytes,
                           .largest_streamed = pass.largest_streamed,
                           .missing = at_end.bytes - std::min(at_start.resident, at_end.bytes),
                           .compute_seconds = pass.compute_seconds,
                           .link_bytes_per_second = slower_leg(record_.calibration, record_.models[pass.model])};
  const Bounds bounds = bounds_of(inputs);
  pass.bound_plain = bounds.plain;
  pass.bound = pass.cold ? bounds.cold : bounds.grain;
  check_contents(pass);
  record_.passes.push_back(pass);
  return {};
}

Result<void> Runner::submit_pass(std::size_t step, std::uint32_t index, const std::vector<std::uint64_t>& work_ns) {
  const std::size_t model = workflow_.steps[step].model;
  const Bytes sum_bytes = work_ns.size() * sizeof(std::uint64_t);
  const auto cleared = driver_.memset_d8_async(sums_.address(), 0, sum_bytes, stream_.get());
  if (auto done = checked(driver_, cleared, "cuMemsetD8Async"); !done) return done;
  if (record_.passes.empty()) {
    if (auto done = events_.record(kRunStart, stream_.get()); !done) return done;
  }
  if (auto done = events_.record(kPassStart, stream_.get()); !done) return done;

  pager_->begin_pass(*ids_[model]);
  const bool swings = budget_swings_now();
  for (std::size_t position = 0; position < work_ns.size(); ++position) {
    if (swings && position == work_ns.size() / 2) {
      if (auto done = swing_budget(); !done) return done;
    }
    if (progress_.due()) {
      progress_.show(fmt::format("{}, weight {}/{}", place_of(workflow_, step, index), position, work_ns.size()));
    }
    if (auto done = use(model, position, work_ns[position]); !done) return done;
    if (interrupted() != 0) {
      return Error{Errc::kClosed, fmt::format("stopped by {} in {}, after weight {} of {}", signal_name(interrupted()),
                                              place_of(workflow_, step, index), position + 1, work_ns.size())};
    }
  }
  if (auto done = events_.record(kPassEnd, stream_.get()); !done) return done;
  pager_->end_step(stream_.get());

  const auto copied = driver_.memcpy_dtoh_async(sums_host_.data(), sums_.address(), sum_bytes, stream_.get());
  if (auto done = checked(driver_, copied, "cuMemcpyDtoHAsync"); !done) return done;
  return stream_.synchronize();
}

// Whether the budget falls and rises in the pass that begins now: at even distances over the whole run.
bool Runner::budget_swings_now() const {
  const std::uint64_t swings = options_.budget_swings;
  std::uint64_t total = 0;
  for (const Step& step : workflow_.steps) total += step.passes;
  const std::uint64_t pass = record_.passes.size();
  return (pass + 1) * swings / total > pass * swings / total;
}

// To half of it, or to what the pager cannot do without, and back.
Result<void> Runner::swing_budget() {
  const PagerStats stats = pager_->stats();
  if (auto lowered = pager_->set_budget(std::max(stats.floor, record_.budget / 2)); !lowered) return lowered;
  return pager_->set_budget(record_.budget);
}

Result<void> Runner::use(std::size_t model, std::size_t position, std::uint64_t work_ns) {
  const TensorUse& tensor_use = workflow_.models[model].uses[position];
  const WeightTensor& weight = workflow_.models[model].weights[tensor_use.weight];
  const WeightPlace place = pager_->place(*ids_[model], tensor_use.weight);
  auto lease = pager_->lease({&place.block, 1}, stream_.get());
  if (!lease) {
    Error error = lease.error();
    error.message = weight.name + ": " + error.message;
    return error;
  }
  const driver::DevicePtr address = lease.value().address(0) + place.offset;
  const driver::DevicePtr sum_at = sums_.address() + position * sizeof(std::uint64_t);
  if (auto done = events_.record(before(position), stream_.get()); !done) return done;
  const auto summed = kernels_.launch_checksum(driver_, address, weight.bytes, sum_at, stream_.get());
  if (auto done = checked(driver_, summed, "launching the checksum kernel"); !done) return done;
  if (work_ns > 0) {
    const auto worked = kernels_.launch_work(driver_, address, weight.bytes, work_ns, stream_.get());
    if (auto done = checked(driver_, worked, "launching the work kernel"); !done) return done;
  }
  if (auto done = events_.record(after(position), stream_.get()); !done) return done;
  lease.value().release();
  return {};
}

Result<void> Runner::measure(PassRecord& pass) {
  const auto seconds = events_.seconds_between(kPassStart, kPassEnd);
  if (!seconds) return seconds.error();
  pass.seconds = seconds.value();
  const std::size_t uses = workflow_.models[pass.model].uses.size();
  for (std::size_t position = 0; position < uses; ++position) {
    const auto took = events_.seconds_between(before(position), after(position));
    if (!took) return took.error();
    pass.compute_seconds += took.value();
  }
  const auto elapsed = events_.seconds_between(kRunStart, kPassEnd);
  if (!elapsed) return elapsed.error();
  record_.elapsed_seconds = elapsed.value();
  return {};
}

void Runner::check_contents(PassRecord& pass) {
  const Model& model = workflow_.models[pass.model];
  const auto* sums = static_cast<const std::uint64_t*>(sums_host_.data());
  for (std::size_t position = 0; position < model.uses.size(); ++position) {
    const std::size_t weight = model.uses[position].weight;
    ++record_.checks;
    if (sums[position] == staged_[pass.model]->expected(weight)) continue;
    ++pass.content_errors;
    ++record_.content_errors;
    if (record_.content_error_examples.size() < kExamples) {
      record_.content_error_examples.push_back(
          fmt::format("{}: wrong bytes in {}", place_of(workflow_, pass.step, pass.index), model.weights[weight].name));
    }
  }
}

// Compute of each use beyond its checksum, which is part of the measured compute.
std::vector<std::uint64_t> Runner::work_of_pass(std::size_t step) const {
  const Model& model = workflow_.models[workflow_.steps[step].model];
  const Calibration& card = record_.calibration;
  std::vector<double> share = flops_of_pass(model, workflow_.steps[step]);
  std::vector<std::uint64_t> work(model.uses.size());
  double checks = 0;
  for (const TensorUse& tensor_use : model.uses) checks += card.checksum_ns(model.weights[tensor_use.weight].bytes);

  if (!options_.compute_ratio) {
    for (std::size_t i = 0; i < work.size(); ++i) {
      const double wanted = share[i] / card.flops_per_second * 1e9;
      const double check = card.checksum_ns(model.weights[model.uses[i].weight].bytes);
      work[i] = static_cast<std::uint64_t>(std::llround(std::max(wanted - check, 0.0)));
    }
    return work;
  }
  const ModelStats stats = pager_->model_stats(*ids_[workflow_.steps[step].model]);
  const Bytes room = whole_frames(record_.budget, pager_->stats().frame_bytes);
  const Bytes streamed = stats.bytes > room ? stats.bytes - room : 0;
  const double wanted = *options_.compute_ratio * static_cast<double>(streamed) / card.link_bytes_per_second * 1e9;
  const double rest = std::max(wanted - checks, 0.0);
  double sum = std::accumulate(share.begin(), share.end(), 0.0);
  if (sum <= 0) {
    for (std::size_t i = 0; i < share.size(); ++i) {
      share[i] = static_cast<double>(model.weights[model.uses[i].weight].bytes);
    }
    sum = std::accumulate(share.begin(), share.end(), 0.0);
  }
  for (std::size_t i = 0; i < work.size(); ++i) {
    work[i] = static_cast<std::uint64_t>(std::llround(rest * share[i] / sum));
  }
  return work;
}

}  // namespace tidegate::cli
