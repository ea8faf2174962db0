#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/probe.h"
#include "cli/quantities.h"

namespace tidegate::cli {
namespace {

const char* name_of(Way way) { return way == Way::kAlloc ? "cuMemAlloc" : "VMM"; }
const char* kind(const ProbeRecord& record) { return record.simulated ? "modelled" : "measured"; }

std::string mib(Bytes bytes) { return std::to_string((bytes + kMiB / 2) / kMiB); }

}  // namespace

std::string probe_json(const ProbeRecord& record) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["card"] = {
      {"name", record.card}, {"uuid", record.uuid}, {"total_bytes", record.total}, {"simulated", record.simulated}};
  json["context"] = {{"bytes", record.context.bytes}, {"how", record.context.how}};
  json["driver_reserve_bytes"] = record.reserve ? Json(*record.reserve) : Json();
  json["sensors"] = Json::array();
  for (const ProbeSensor& sensor : record.sensors) {
    Json entry = {{"name", sensor.name}, {"scope", tidegate::name_of(sensor.scope)}, {"evidence", sensor.evidence}};
    entry["free_bytes"] = sensor.idle ? Json(sensor.idle->free) : Json();
    entry["total_bytes"] = sensor.idle && sensor.idle->total != 0 ? Json(sensor.idle->total) : Json();
    json["sensors"].push_back(entry);
  }
  json["readings"] = Json::array();
  for (const ProbeRow& row : record.rows) {
    json["readings"].push_back({{"beside", row.beside},
                                {"by", name_of(row.way)},
                                {"touched", row.touched},
                                {"held_bytes", row.held},
                                {"holder_free_bytes", row.holder_free},
                                {"free_bytes", row.reads}});
  }
  json["figures"] = kind(record);
  const auto costs = [](const std::vector<ProbeCost>& all, const char* unit) {
    Json array = Json::array();
    for (const ProbeCost& cost : all) array.push_back({{"what", cost.what}, {"bytes", cost.bytes}, {unit, cost.value}});
    return array;
  };
  json["calls"] = costs(record.calls, "microseconds");
  json["copies"] = costs(record.copies, "gb_per_s");
  json["pinned"] = {{"held_bytes", record.pinned_held}, {"more_refused", record.pinned_refused}};
  json["notes"] = record.notes;
  return json.dump(2) + "\n";
}

std::string probe_table(const ProbeRecord& record) {
  std::string text = fmt::format("{} ({}), {} for programs{}\n", record.card, record.uuid, format_size(record.total),
                                 record.simulated ? ", simulated" : "");
  text += fmt::format("a context takes {} MiB: {}\n", mib(record.context.bytes), record.context.how);
  if (record.reserve) text += fmt::format("the driver keeps {} MiB for itself: NVML v2\n", mib(*record.reserve));
  text += "\nsensor        scope    evidence\n";
  for (const ProbeSensor& sensor : record.sensors) {
    text += fmt::format("{:<13} {:<8} {}\n", sensor.name, tidegate::name_of(sensor.scope), sensor.evidence);
  }
  std::vector<std::string> names;
  for (const ProbeSensor& sensor : record.sensors) {
    if (sensor.idle) names.push_back(sensor.name);
  }
  text += fmt::format("\nfree MiB, {}; \"holder\" is what the helper is told, the rest what this process is told\n",
                      kind(record));
  text += fmt::format("{:<9} {:>7} {:<11} {:<10} {:>8}", "", "held", "by", "", "holder");
  for (const std::string& name : names) text += fmt::format(" {:>13}", name);
  text += "\n";
  for (const ProbeRow& row : record.rows) {
    text += fmt::format("{:<9} {:>7} {:<11} {:<10} {:>8}", row.beside ? "beside" : "alone", mib(row.held),
                        row.held == 0 ? "" : name_of(row.way),
                        row.held == 0 ? "idle"
                        : row.touched ? "touched"
                                      : "untouched",
                        mib(row.holder_free));
    for (const std::string& name : names) {
      const auto read = row.reads.find(name);
      text += fmt::format(" {:>13}", read == row.reads.end() ? "-" : mib(read->second));
    }
    text += "\n";
  }
  text += fmt::format("\nmapping calls, medians, microseconds, {}\n", kind(record));
  for (const ProbeCost& cost : record.calls) {
    text += fmt::format("{:<16} {:>9} {:>9.1f}\n", cost.what, format_size(cost.bytes), cost.value);
  }
  text += fmt::format("\ncopies of 256 MiB, medians, 10^9 bytes per second, {}\n", kind(record));
  for (const ProbeCost& cost : record.copies) text += fmt::format("{:<29} {:>7.1f}\n", cost.what, cost.value);
  text += fmt::format("\npage-locked memory: {} could be had{}\n", format_size(record.pinned_held),
                      record.pinned_refused ? ", more was refused" : "; more was not tried");
  for (const std::string& note : record.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace tidegate::cli
