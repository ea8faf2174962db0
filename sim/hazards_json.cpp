#include "sim/hazards_json.h"

#include <nlohmann/json.hpp>

namespace tidegate::sim {

std::string hazards_json(const Hazards& hazards, const Stats& totals) {
  using Json = nlohmann::ordered_json;
  Json hits = Json::array();
  for (const Hazard& hazard : hazards.list()) {
    if (hazard.exposure) continue;
    hits.push_back({{"rule", hazard.rule}, {"pid", hazard.process}, {"call", hazard.call}, {"what", hazard.what}});
  }
  Json hit_counts = Json::object();
  Json exposures = Json::object();
  for (const std::string& rule : hazards.rules()) {
    if (hazards.hits(rule) > 0) hit_counts[rule] = hazards.hits(rule);
    if (hazards.exposures(rule) > 0) exposures[rule] = hazards.exposures(rule);
  }
  Json calls = Json::object();
  for (std::size_t i = 0; i < totals.calls.size(); ++i) {
    if (totals.calls[i] > 0) calls[driver::name_of(static_cast<driver::FunctionId>(i))] = totals.calls[i];
  }
  const Json counts = {{"bytes_to_card", totals.copied_h2d},
                       {"bytes_from_card", totals.copied_d2h},
                       {"bytes_within_card", totals.copied_d2d},
                       {"not_ready", totals.not_ready},
                       {"failed_calls", totals.failed_calls},
                       {"device_synchronizes", totals.device_syncs},
                       {"mapping_calls", totals.mapping_calls},
                       {"maps_at_used_addresses", totals.remaps},
                       {"bytes_mapped_at_used_addresses", totals.remapped},
                       {"peak_bytes", totals.peak_committed}};
  const Json document = {
      {"hits", hits}, {"hit_counts", hit_counts}, {"exposures", exposures}, {"calls", calls}, {"counts", counts}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tidegate::sim
