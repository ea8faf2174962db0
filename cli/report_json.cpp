#include <cmath>

#include <nlohmann/json.hpp>

#include "cli/report.h"

namespace tidegate::cli {
namespace {

using Json = nlohmann::ordered_json;

// Nine places after the point: nanoseconds. Rounded first, so that the shortest text of the number is short.
double fixed(double value) { return std::round(value * 1e9) / 1e9; }

Json counters_json(const Counters& counters) {
  return {{"mapping_calls", counters.mapping_calls},
          {"device_synchronises", counters.device_syncs},
          {"allocations", counters.allocations}};
}

Json model_json(const Model& model, const ModelRecord& record) {
  return {{"name", model.name},
          {"bytes", model.bytes()},
          {"weights", model.weights.size()},
          {"uses_per_pass", model.uses.size()},
          {"blocks", record.blocks},
          {"small_weights", record.small_weights},
          {"small_bytes", record.small_bytes},
          {"staged_in", record.how_staged},
          {"file_bytes_per_second",
           record.file_bytes_per_second > 0 ? Json(std::round(record.file_bytes_per_second)) : Json()},
          {"block_bytes", record.stats.bytes},
          {"needed_bytes", record.stats.needed},
          {"ring_bytes", record.stats.ring},
          {"largest_streamed_bytes", record.stats.largest_streamed},
          {"predicted_pass_seconds", fixed(record.stats.predicted_pass_seconds)},
          {"assumed", model.assumed}};
}

Json pass_json(const RunRecord& record, const PassRecord& pass) {
  Json json = {{"model", record.workflow->models[pass.model].name},
               {"step", record.workflow->steps[pass.step].label},
               {"index", pass.index},
               {"cold", pass.cold},
               {"bytes_resident", pass.resident},
               {"bytes_copied", pass.copied},
               {"largest_streamed_bytes", pass.largest_streamed},
               {"seconds", fixed(pass.seconds)},
               {"compute_seconds", fixed(pass.compute_seconds)},
               {"bound_plain_seconds", fixed(pass.bound_plain)},
               {"bound_seconds", fixed(pass.bound)},
               {"ratio_plain", fixed(pass.ratio_plain())},
               {"ratio", fixed(pass.ratio())},
               {"content_errors", pass.content_errors}};
  if (record.simulated) json["counters"] = counters_json(pass.counters);
  return json;
}

Json totals_json(const RunRecord& record) {
  const Totals totals = totals_of(record);
  Json json = {{"passes", record.passes.size()},
               {"seconds", fixed(totals.seconds)},
               {"elapsed_seconds", fixed(record.elapsed_seconds)},
               {"compute_seconds", fixed(totals.compute_seconds)},
               {"bound_seconds", fixed(totals.bound)},
               {"ratio", fixed(totals.ratio)},
               {"worst_warm_ratio", fixed(totals.worst_warm_ratio)},
               {"worst_cold_ratio", fixed(totals.worst_cold_ratio)},
               {"bytes_copied", totals.copied}};
  if (record.simulated) {
    json["warm_counters"] = counters_json(totals.warm);
    json["swap_counters"] = counters_json(totals.swaps);
  }
  return json;
}

Json leaving_json(const LeavingStats& left) {
  return {{"frames", left.frames},          {"canaries", left.canaries}, {"gates", left.gates},
          {"gate_ns", left.gate_ns},        {"forced", left.forced},     {"exposures", left.exposures},
          {"quarantined", left.quarantined}};
}

Json pager_json(const PagerStats& stats) {
  return {{"floor_bytes", stats.floor},     {"reclaimable_bytes", stats.reclaimable},
          {"ceiling_bytes", stats.ceiling}, {"frame_bytes", stats.frame_bytes},
          {"copies", stats.copies},         {"moves", stats.moves},
          {"evictions", stats.evictions},   {"mapping_calls", stats.mapping_calls},
          {"waits", stats.waits},           {"replans", stats.replans},
          {"retries", stats.retries},       {"leaving", leaving_json(stats.leaving)}};
}

}  // namespace

std::string report_json(const RunRecord& record) {
  const RunOptions& options = record.options;
  const Calibration& calibration = record.calibration;
  Json json;
  json["tidegate_report"] = 1;
  json["ok"] = record.ok();
  json["driver"] = record.simulated ? "sim" : "cuda";
  json["driver_description"] = record.driver;
  json["card"] = record.card;
  json["workflow"] = record.workflow->name;
  json["mode"] = name_of(options.mode);
  json["policy"] = name_of(options.policy);
  json["seed"] = options.seed;
  json["scale"] = record.scale;
  json["scale_asked"] = options.scale;
  json["bytes"] = name_of(record.bytes);
  json["staged"] = record.one_at_a_time ? "one model at a time" : "all models";
  json["compute_ratio"] = options.compute_ratio ? Json(*options.compute_ratio) : Json();
  json["kinds"] = {{"seconds", record.simulated ? "modelled" : "measured"},
                   {"bounds", "computed"},
                   {"ratios", "computed"},
                   {"bytes", "counted"}};
  json["link"] = {{"bytes_per_second", std::round(calibration.link_bytes_per_second)}, {"kind", calibration.link_kind}};
  json["compute"] = {{"flops_per_second", std::round(calibration.flops_per_second)}, {"kind", calibration.flops_kind}};
  json["budget_bytes"] = record.budget;
  json["budget_source"] = record.budget_source;
  json["peak_bytes"] = record.pager.peak_held;
  json["content_checks"] = record.checks;
  json["content_errors"] = record.content_errors;
  json["content_error_examples"] = record.content_error_examples;
  json["hazards"] = Json::array();
  for (const HazardRecord& hazard : record.hazards) {
    json["hazards"].push_back({{"rule", hazard.rule}, {"exposure", hazard.exposure}, {"text", hazard.text}});
  }
  json["hazard_count"] = record.hazard_count;
  json["totals"] = totals_json(record);
  json["pager"] = pager_json(record.pager);
  json["models"] = Json::array();
  for (std::size_t i = 0; i < record.models.size(); ++i) {
    json["models"].push_back(model_json(record.workflow->models[i], record.models[i]));
  }
  json["passes"] = Json::array();
  for (const PassRecord& pass : record.passes) json["passes"].push_back(pass_json(record, pass));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tidegate::cli
