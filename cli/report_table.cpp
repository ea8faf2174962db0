#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "cli/quantities.h"
#include "cli/report.h"

namespace tidegate::cli {
namespace {

constexpr std::size_t kHazardsShown = 5;
constexpr std::size_t kNameWidth = 24;

template <typename Get>
auto median(const std::vector<const PassRecord*>& passes, Get&& get) {
  std::vector<decltype(get(*passes.front()))> values;
  values.reserve(passes.size());
  for (const PassRecord* pass : passes) values.push_back(get(*pass));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void add_header(const RunRecord& record, std::string& out) {
  const auto to = std::back_inserter(out);
  const RunOptions& options = record.options;
  const Calibration& calibration = record.calibration;
  if (record.simulated) {
    fmt::format_to(to,
                   "{} on the simulated card {}: memory, copies, kernels and the clock are simulated; every time below "
                   "is modelled, none was measured on a GPU\n",
                   record.workflow->name, record.card);
  } else {
    fmt::format_to(to, "{} on {} ({}): times are measured by the card's own events\n", record.workflow->name,
                   record.card, record.driver);
  }
  fmt::format_to(
      to, "  mode {}, policy {}, seed {}, scale {}{}, bytes {}{}\n", name_of(options.mode), name_of(options.policy),
      options.seed, record.scale, record.scale < options.scale ? " (host memory is short for more)" : "",
      record.bytes == BytesMode::kReal ? "real, every one checked at each use"
                                       : "tags, and real ones at the front of each weight, checked at each use",
      record.one_at_a_time ? "; one model at a time is staged" : "");
  fmt::format_to(to, "  link {:.2f} GB/s ({}); ", calibration.link_bytes_per_second / 1e9, calibration.link_kind);
  if (options.compute_ratio) {
    fmt::format_to(to, "compute set to {} x (weights - B) / link\n", *options.compute_ratio);
  } else {
    fmt::format_to(to, "compute {:.1f} TFLOP/s ({})\n", calibration.flops_per_second / 1e12, calibration.flops_kind);
  }
  for (std::size_t i = 0; i < record.models.size(); ++i) {
    const double rate = record.models[i].file_bytes_per_second;
    if (rate == 0) continue;
    fmt::format_to(to, "  {}: from {}, {:.2f} GB/s (measured once, before the passes); bounds take the slower leg\n",
                   record.workflow->models[i].name, record.models[i].how_staged, rate / 1e9);
  }
  fmt::format_to(to, "  budget {} ({}); peak held {} (counted)\n\n", format_size(record.budget), record.budget_source,
                 format_size(record.pager.peak_held));
}

void add_row(const Model& model, bool cold, const std::vector<const PassRecord*>& passes, std::string& out) {
  if (passes.empty()) return;
  const auto worst = (*std::max_element(passes.begin(), passes.end(), [](const PassRecord* a, const PassRecord* b) {
                       return a->ratio() < b->ratio();
                     }))->ratio();
  const std::string name = model.name.size() <= kNameWidth ? model.name : model.name.substr(0, kNameWidth - 3) + "...";
  fmt::format_to(std::back_inserter(out),
                 "{:<{}} {:>10} {:>5} {:>6} {:>11} {:>11} {:>7.3f} {:>7.3f} {:>7.3f} {:>11} {:>11}\n", name, kNameWidth,
                 format_size(model.bytes()), cold ? "cold" : "warm", passes.size(),
                 format_seconds(median(passes, [](const PassRecord& pass) { return pass.seconds; })),
                 format_seconds(median(passes, [](const PassRecord& pass) { return pass.bound; })),
                 median(passes, [](const PassRecord& pass) { return pass.ratio(); }), worst,
                 median(passes, [](const PassRecord& pass) { return pass.ratio_plain(); }),
                 format_size(median(passes, [](const PassRecord& pass) { return pass.copied; })),
                 format_size(median(passes, [](const PassRecord& pass) { return pass.resident; })));
}

void add_passes(const RunRecord& record, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:<{}} {:>10} {:>5} {:>6} {:>11} {:>11} {:>7} {:>7} {:>7} {:>11} {:>11}\n",
                 "model", kNameWidth, "bytes", "pass", "passes", "seconds", "bound", "ratio", "worst", "plain",
                 "copied", "resident");
  for (std::size_t i = 0; i < record.workflow->models.size(); ++i) {
    for (const bool cold : {true, false}) {
      std::vector<const PassRecord*> passes;
      for (const PassRecord& pass : record.passes) {
        if (pass.model == i && pass.cold == cold) passes.push_back(&pass);
      }
      add_row(record.workflow->models[i], cold, passes, out);
    }
  }
  fmt::format_to(std::back_inserter(out),
                 "Medians; seconds {}, bounds and ratios computed, bytes counted. Cold: the first pass after another "
                 "model; its bound\nis max(compute, bytes not resident / link). Warm: max(compute, (weights - B + g) / "
                 "link), B the budget in whole frames,\ng twice the largest streamed block. Plain: max(compute, "
                 "(weights - budget) / link). Resident: when the pass began.\n\n",
                 record.simulated ? "modelled" : "measured");
}

void add_verdict(const RunRecord& record, std::string& out) {
  const auto to = std::back_inserter(out);
  const Totals totals = totals_of(record);
  fmt::format_to(to, "total   {} passes in {} ({}), bounds add up to {} (computed): ratio {:.3f}; {} copied\n",
                 format_count(record.passes.size()), format_seconds(totals.seconds),
                 record.simulated ? "modelled" : "measured", format_seconds(totals.bound), totals.ratio,
                 format_size(totals.copied));
  fmt::format_to(to, "memory  peak {} of {}: {}\n", format_size(record.pager.peak_held), format_size(record.budget),
                 record.pager.peak_held <= record.budget ? "within the budget" : "OVER THE BUDGET");
  if (const LeavingStats& left = record.pager.leaving; left.frames > 0) {
    fmt::format_to(
        to, "left    {} frames behind {} canaries; {} forced, {} exposures; leases held up {} times, {} in all\n",
        format_count(left.frames), format_count(left.canaries), left.forced, left.exposures, left.gates,
        format_seconds(static_cast<double>(left.gate_ns) * 1e-9));
  }
  fmt::format_to(to, "content {} weights checked at use, {} wrong\n", format_count(record.checks),
                 format_count(record.content_errors));
  for (const std::string& example : record.content_error_examples) fmt::format_to(to, "        {}\n", example);
  if (!record.simulated) {
    fmt::format_to(to, "hazards not looked for: only the simulated card detects them\n");
  } else {
    fmt::format_to(to, "hazards {}\n", format_count(record.hazard_count));
    for (std::size_t i = 0; i < std::min(kHazardsShown, record.hazards.size()); ++i) {
      fmt::format_to(to, "        {}\n", record.hazards[i].text);
    }
    fmt::format_to(to,
                   "calls   warm passes: {} mapping, {} device-wide synchronise, {} allocation; swaps: {}, {}, {}\n",
                   totals.warm.mapping_calls, totals.warm.device_syncs, totals.warm.allocations,
                   totals.swaps.mapping_calls, totals.swaps.device_syncs, totals.swaps.allocations);
  }
  fmt::format_to(to, "{}\n", record.ok() ? "ok" : "FAILED");
}

}  // namespace

std::string report_table(const RunRecord& record) {
  std::string out;
  add_header(record, out);
  add_passes(record, out);
  add_verdict(record, out);
  return out;
}

}  // namespace tidegate::cli
