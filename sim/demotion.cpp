#include "sim/demotion.h"

#include <cstring>
#include <numeric>

#include "sim/wddm_control.h"
#include "sim/windows_answers.h"

namespace tidegate::sim {

std::optional<Demotion> demotion(Process& process, int card) {
  win::QueryStatistics query{};
  query.type = win::StatisticsType::kProcessSegmentGroup;
  query.adapter_luid = win::luid_of(card);
  query.selector = static_cast<std::uint32_t>(win::SegmentGroup::kLocal);
  if (win::query_statistics(process, &query) != win::kStatusSuccess) return std::nullopt;
  win::ProcessSegmentGroupInformation answer{};
  std::memcpy(&answer, query.result, sizeof answer);
  return Demotion{std::accumulate(std::begin(answer.demoted), std::end(answer.demoted), Bytes{0}),
                  wddm::ledgers_of(process, card).evicted_total};
}

}  // namespace tidegate::sim
