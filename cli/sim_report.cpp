#include "cli/sim_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tidegate::cli {

std::string hazards_json(const sim::Hazards& hazards, const sim::Stats& totals) {
  using Json = nlohmann::ordered_json;
  Json hits = Json::array();
  Json exposures = Json::object();
  for (const sim::Hazard& hazard : hazards.list()) {
    if (hazard.exposure) {
      exposures[hazard.rule] = hazards.exposures(hazard.rule);
    } else {
      hits.push_back({{"rule", hazard.rule}, {"pid", hazard.process}, {"call", hazard.call}, {"what", hazard.what}});
    }
  }
  Json calls = Json::object();
  for (std::size_t i = 0; i < totals.calls.size(); ++i) {
    if (totals.calls[i] > 0) calls[driver::name_of(static_cast<driver::FunctionId>(i))] = totals.calls[i];
  }
  const Json document = {{"hits", hits}, {"exposures", exposures}, {"calls", calls}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string stats_table(const std::vector<SimProcess>& processes, base::Nanos card_time) {
  std::string text = fmt::format("simulated card: {:.6f} s of its time (modelled); per process, counted:\n",
                                 static_cast<double>(card_time) / 1e9);
  text += fmt::format("{:>4} {:>8} {:<16} {:>10} {:>8} {:>10} {:>10} {:>10}\n", "no.", "pid", "program", "calls",
                      "failed", "MiB to it", "MiB back", "peak MiB");
  for (const SimProcess& process : processes) {
    text += fmt::format("{:>4} {:>8} {:<16} {:>10} {:>8} {:>10} {:>10} {:>10}\n", process.id, process.pid, process.name,
                        process.stats.total_calls, process.stats.failed_calls, process.stats.copied_h2d / kMiB,
                        process.stats.copied_d2h / kMiB, process.stats.peak_committed / kMiB);
  }
  return text;
}

}  // namespace tidegate::cli
