#include "sim/hazards.h"

#include <utility>

namespace tidegate::sim {

namespace {
std::uint64_t count_of(const std::map<std::string, std::uint64_t>& counts, const std::string& rule) {
  const auto found = counts.find(rule);
  return found == counts.end() ? 0 : found->second;
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [rule, count] : counts) sum += count;
  return sum;
}
}  // namespace

std::string to_text(const Hazard& hazard) {
  return hazard.rule + (hazard.exposure ? " exposure in process " : " hit in process ") +
         std::to_string(hazard.process) + ", call " + std::to_string(hazard.call_index) + " " + hazard.call + ", at " +
         std::to_string(hazard.at) + " ns: " + hazard.what +
         (hazard.bugcheck.empty() ? "" : " (" + hazard.bugcheck + ")");
}

void Hazards::add(Hazard hazard) {
  ++(hazard.exposure ? exposures_ : hits_)[hazard.rule];
  if (list_.size() < kKeep) list_.push_back(std::move(hazard));
}

std::uint64_t Hazards::hits(const std::string& rule) const { return count_of(hits_, rule); }
std::uint64_t Hazards::exposures(const std::string& rule) const { return count_of(exposures_, rule); }
std::vector<std::string> Hazards::rules() const {
  std::map<std::string, std::uint64_t> both = hits_;
  both.insert(exposures_.begin(), exposures_.end());
  std::vector<std::string> rules;
  for (const auto& [rule, count] : both) rules.push_back(rule);
  return rules;
}
std::uint64_t Hazards::total_hits() const { return sum_of(hits_); }
std::uint64_t Hazards::total_exposures() const { return sum_of(exposures_); }

std::string Hazards::text() const {
  std::string text;
  for (const Hazard& hazard : list_) text += to_text(hazard) + "\n";
  return text;
}

}  // namespace tidegate::sim
