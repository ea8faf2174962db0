#include "cli/run_command.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/quantities.h"
#include "cli/report.h"
#include "cli/runner.h"
#include "src/base/write_file.h"

namespace tidegate::cli {
namespace {

template <typename T>
Result<T> parse_number(const char* option, const std::string& text, T least, T most) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool read = fault == std::errc{} && end == text.data() + text.size();
  if (!read || !(value >= least && value <= most)) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is no number from {} to {}", option, text, least, most)};
  }
  return value;
}

template <typename T>
Result<T> parse_name(const char* option, const std::string& text, std::initializer_list<T> known) {
  std::string names;
  for (const T value : known) {
    if (text == name_of(value)) return value;
    names += names.empty() ? "" : ", ";
    names += name_of(value);
  }
  return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is none of {}", option, text, names)};
}

Error named(const char* option, Error error) {
  error.message = std::string(option) + ": " + error.message;
  return error;
}

bool is_workflow(const std::string& path) {
  static constexpr std::string_view kWorkflow = ".json";
  static constexpr std::string_view kIndex = ".safetensors.index.json";
  return path.ends_with(kWorkflow) && !path.ends_with(kIndex);
}

Result<Workflow> load_input(const RunOptions& options) {
  if (!is_workflow(options.input)) {
    const bool direct = options.read == ReadMode::kDirect || options.read == ReadMode::kStream;
    const auto cache = direct ? base::InputFile::Cache::kDirect : base::InputFile::Cache::kPage;
    return workflow_of_file(options.input, cache, options.passes.value_or(kDefaultPasses));
  }
  auto workflow = load_workflow(options.input);
  if (workflow && options.passes) {
    for (Step& step : workflow.value().steps) step.passes = *options.passes;
  }
  return workflow;
}

Result<void> leave_without(const std::vector<std::string>& measures, LeavingOptions& leaving) {
  for (const std::string& measure : measures) {
    if (measure == "all") {
      leaving.how = LeavingOptions::How::kAtOnce;
    } else if (measure == "settle") {
      leaving.settle = false;
    } else if (measure == "drain") {
      leaving.drain = false;
    } else if (measure == "gate") {
      leaving.gate = false;
    } else if (measure == "quarantine") {
      leaving.quarantine = false;
    } else {
      return Error{Errc::kInvalidArgument, "--without: settle, drain, gate, quarantine or all, not " + measure};
    }
  }
  return {};
}

Result<void> run(const RunOptions& options, bool& ok) {
  if (!options.report.empty()) {
    if (auto writable = base::can_write_file(options.report); !writable) return named("--report", writable.error());
  }
  auto workflow = load_input(options);
  if (!workflow) return workflow.error();
  if (workflow.value().models.front().file == nullptr && options.read == ReadMode::kStream) {
    return Error{Errc::kInvalidArgument, "--read stream: a workflow has no model file to read from"};
  }
  if (workflow.value().models.front().file != nullptr && options.scale != 1) {
    return Error{Errc::kInvalidArgument, "--scale: a model file runs as it is"};
  }
  auto chosen = choose_card(options);
  if (!chosen) return chosen.error();

  Progress progress(options.quiet);
  Runner runner(options, std::move(workflow).value(), std::move(chosen).value(), progress);
  auto record = runner.run();
  progress.clear();
  if (!record) return record.error();
  ok = record.value().ok();
  std::fputs(report_table(record.value()).c_str(), stdout);
  std::fflush(stdout);
  if (options.report.empty()) return {};
  return base::write_file(options.report, report_json(record.value()));
}

}  // namespace

CLI::App* add_run_command(CLI::App& app, RunArguments& arguments) {
  CLI::App* run = app.add_subcommand(
      "run", "Run a workflow, or one model file, through the pager and check every weight at each use.");
  run->add_option(
         "input", arguments.input,
         "WORKFLOW.json (see examples/workflows), MODEL.safetensors, MODEL.safetensors.index.json (shards beside "
         "it) or MODEL.gguf")
      ->required();
  run->add_option(
      "--card", arguments.card,
      "A simulated card: rtx3050-6g-linux, rtx3090-24g-linux, h200-linux, rtx3050-6g-wddm, rtx4060ti-16g-wddm, or a "
      "profile's file; or cuda, "
      "cuda:N. Default: the GPU if there is one, else rtx3050-6g-wddm");
  run->add_option("--vram", arguments.vram,
                  "The pager's budget, such as 6GiB or 512MiB. Default: what the card has free, less a standing "
                  "allowance of max(512 MiB, 5 %)");
  run->add_option("--mode", arguments.mode,
                  "dynamic: page by mapped frames; static: through one plain allocation; off: no paging, everything "
                  "must fit. Default: the variable TIDEGATE_MODE, else dynamic");
  run->add_option("--policy", arguments.policy, "scatter; to compare with: tail (a watermark), lru")
      ->capture_default_str();
  run->add_option("--read", arguments.read,
                  "How a model file is read into page-locked memory: direct (past the page cache, so that no second "
                  "copy stays in "
                  "memory), cached (through it, and left there for the next run); mmap: used where it is mapped; "
                  "stream: not kept in memory at all, but read at each use through a ring (--ring)")
      ->capture_default_str();
  run->add_option("--ring", arguments.ring,
                  "Page-locked memory for --read stream; at least what the largest weight takes")
      ->capture_default_str();
  run->add_option("--seed", arguments.seed, "Decides all contents, and all orders on the simulated card")
      ->capture_default_str();
  run->add_option("--scale", arguments.scale, "1/16, 0.25: shrinks every tensor, its FLOPs, and the default budget")
      ->capture_default_str();
  run->add_option("--bytes", arguments.bytes,
                  "real: every byte exists; tags (simulated card): the first 4 KiB of each weight do, the rest is "
                  "tracked by tags. Default: tags when simulated, else real");
  run->add_option("--compute-ratio", arguments.compute_ratio,
                  "Sets a pass's compute to this times (weights - B) / link, in place of the FLOPs");
  run->add_option("--tflops", arguments.tflops, "The card's rate for the FLOPs of the workflow, in place of a guess");
  run->add_option("--host-memory", arguments.host_memory,
                  "What real bytes may take of host memory, such as 16GiB; where it is short, models are staged one at "
                  "a time, or the scale falls. Default: 80 % of what the system has available");
  run->add_option("--passes", arguments.passes, "Passes of every step. Default: the workflow's; a file: 3");
  run->add_option("--budget-swings", arguments.budget_swings,
                  "Lower the budget to its half and raise it again, this often, in the midst of passes");
  run->add_option(
         "--without", arguments.without,
         "Measures of leaving under Windows to do without, to see their price: settle, drain, gate, quarantine, "
         "or all (docs/leaving.md)")
      ->delimiter(',');
  run->add_option("--report", arguments.report, "Write a JSON report here");
  run->add_flag("--real-time", arguments.real_time, "Let the simulated card take the time that it models");
  run->add_flag("--quiet,-q", arguments.quiet, "No progress on stderr");
  return run;
}

Result<RunOptions> parse_options(const RunArguments& arguments) {
  RunOptions options;
  options.input = arguments.input;
  options.card = arguments.card;
  options.report = arguments.report;
  options.real_time = arguments.real_time;
  options.quiet = arguments.quiet;

  const auto mode = arguments.mode.empty()
                        ? mode_from_environment()
                        : parse_name("--mode", arguments.mode, {Mode::kDynamic, Mode::kStatic, Mode::kOff});
  if (!mode) return mode.error();
  options.mode = mode.value();
  options.budget_swings = arguments.budget_swings;
  if (auto done = leave_without(arguments.without, options.leaving); !done) return done.error();
  const auto policy = parse_name("--policy", arguments.policy, {Policy::kScatter, Policy::kTail, Policy::kLru});
  if (!policy) return policy.error();
  options.policy = policy.value();
  const auto read = parse_name("--read", arguments.read,
                               {ReadMode::kCached, ReadMode::kDirect, ReadMode::kMapped, ReadMode::kStream});
  if (!read) return read.error();
  options.read = read.value();
  const auto seed = parse_number<std::uint64_t>("--seed", arguments.seed, 0, UINT64_MAX);
  if (!seed) return seed.error();
  options.seed = seed.value();
  const auto scale = parse_scale(arguments.scale);
  if (!scale) return named("--scale", scale.error());
  options.scale = scale.value();
  if (!arguments.vram.empty()) {
    const auto vram = parse_size(arguments.vram);
    if (!vram) return named("--vram", vram.error());
    options.vram = vram.value();
  }
  const auto ring = parse_size(arguments.ring);
  if (!ring) return named("--ring", ring.error());
  options.ring = ring.value();
  if (!arguments.host_memory.empty()) {
    const auto memory = parse_size(arguments.host_memory);
    if (!memory) return named("--host-memory", memory.error());
    options.host_memory = memory.value();
  }
  if (!arguments.bytes.empty()) {
    const auto bytes = parse_name("--bytes", arguments.bytes, {BytesMode::kReal, BytesMode::kTags});
    if (!bytes) return bytes.error();
    options.bytes = bytes.value();
  }
  if (!arguments.compute_ratio.empty()) {
    const auto ratio = parse_number<double>("--compute-ratio", arguments.compute_ratio, 0, 1000);
    if (!ratio) return ratio.error();
    options.compute_ratio = ratio.value();
  }
  if (!arguments.tflops.empty()) {
    const auto tflops = parse_number<double>("--tflops", arguments.tflops, 1e-6, 1e6);
    if (!tflops) return tflops.error();
    options.tflops = tflops.value();
  }
  if (!arguments.passes.empty()) {
    const auto passes = parse_number<std::uint32_t>("--passes", arguments.passes, 1, 1'000'000);
    if (!passes) return passes.error();
    options.passes = passes.value();
  }
  return options;
}

int run_command(const RunArguments& arguments) {
  const auto options = parse_options(arguments);
  if (!options) return say_error(options.error());
  catch_interrupts();
  bool ok = false;
  const auto done = run(options.value(), ok);
  if (interrupted() != 0 && !done) {
    std::fprintf(stderr, "tidegate: %s\n", done.error().message.c_str());
    return kSignalled + interrupted();
  }
  if (!done) return say_error(done.error());
  return ok ? 0 : kFailed;
}

}  // namespace tidegate::cli
