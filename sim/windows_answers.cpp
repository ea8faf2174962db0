#include "sim/windows_answers.h"

#include <algorithm>
#include <cstring>

#include "sim/vidmm/vidmm.h"
#include "sim/wddm_personality.h"
#include "sim/world.h"

namespace tidegate::sim::win {

namespace {

constexpr std::uint32_t kLuidBase = 0x10000;

vidmm::Adapter* adapter_of(World& world, int card) {
  if (card < 0 || card >= static_cast<int>(world.cards.size())) return nullptr;
  WddmPersonality* personality = world.cards[static_cast<std::size_t>(card)]->personality->as_wddm();
  return personality == nullptr ? nullptr : &personality->adapter();
}

Bytes non_local_limit(const vidmm::Adapter& adapter) { return std::max(adapter.parameters.ram / 2, 64 * kMiB); }

QueryVideoMemoryInfo info_of(vidmm::Adapter& adapter, vidmm::Client& client, SegmentGroup group) {
  QueryVideoMemoryInfo info{};
  if (group == SegmentGroup::kLocal) {
    info.Budget = vidmm::budget_of(adapter, client);
    info.CurrentUsage = client.charged - client.demoted;
    if (!adapter.on(12)) info.CurrentUsage = adapter.resident;
    info.CurrentReservation = client.reservation;
    info.AvailableForReservation = info.Budget / 2 - std::min(info.Budget / 2, client.reservation);
  } else if (adapter.on(1)) {
    info.Budget = non_local_limit(adapter);
    info.CurrentUsage = client.non_local;
    info.AvailableForReservation = info.Budget / 2;
  }
  return info;
}

template <typename Information>
NtStatus give(QueryStatistics& query, const Information& information) {
  static_assert(sizeof information <= sizeof query.Result);
  std::memset(query.Result, 0, sizeof query.Result);
  std::memcpy(query.Result, &information, sizeof information);
  return kStatusSuccess;
}

NtStatus segment(const vidmm::Adapter& adapter, QueryStatistics& query) {
  SegmentInformation out{};
  Bytes non_local = 0;
  Bytes demoted = 0;
  for (const auto& [process, client] : adapter.clients) {
    non_local += client.non_local;
    demoted += client.demoted;
  }
  if (query.Selector == 0) {
    out.CommitLimit = adapter.capacity;
    out.BytesCommitted = adapter.committed;
    out.BytesResident = adapter.resident;
    out.Memory.TotalBytesEvicted = adapter.counters.evicted;
    out.Memory.AllocsCommitted = static_cast<std::uint32_t>(adapter.allocs.size());
    for (const auto& [process, client] : adapter.clients) {
      out.Memory.AllocsResident += static_cast<std::uint32_t>(client.resident_list.size());
    }
    std::copy(adapter.counters.evicted_by_priority.begin(), adapter.counters.evicted_by_priority.end(),
              out.TotalBytesEvictedByPriority);
    return give(query, out);
  }
  if (query.Selector != 1 || !adapter.on(1)) return kStatusInvalidParameter;
  out.CommitLimit = non_local_limit(adapter);
  out.BytesCommitted = demoted;
  out.BytesResident = non_local;
  out.Aperture = 1;
  return give(query, out);
}

NtStatus process_segment(const vidmm::Client& client, QueryStatistics& query) {
  if (query.Selector > 1) return kStatusInvalidParameter;
  ProcessSegmentInformation out{};
  if (query.Selector == 0) {
    out.BytesCommitted = client.committed;
    out.MaximumWorkingSet = client.budget;
    const auto priority = static_cast<std::size_t>(client.priority);
    out.VideoMemory.AllocsResidentInP[priority] = {static_cast<std::uint32_t>(client.resident_list.size()),
                                                   client.resident};
    out.VideoMemory.AllocsResidentInNonPreferred = {static_cast<std::uint32_t>(client.overflow.size()),
                                                    client.non_local};
    out.VideoMemory.TotalBytesEvictedDueToPreparation = client.evicted_total;
  } else {
    out.BytesCommitted = client.demoted;
  }
  return give(query, out);
}

NtStatus process_segment_group(vidmm::Adapter& adapter, vidmm::Client& client, QueryStatistics& query) {
  if (query.Selector > 1) return kStatusInvalidParameter;
  const auto group = static_cast<SegmentGroup>(query.Selector);
  const QueryVideoMemoryInfo info = info_of(adapter, client, group);
  ProcessSegmentGroupInformation out{};
  out.Budget = info.Budget;
  out.Usage = info.CurrentUsage;
  out.Requested = info.CurrentUsage;
  if (group == SegmentGroup::kLocal) {
    out.Requested += client.demoted;
    out.Demoted[client.priority] = client.demoted;
  }
  return give(query, out);
}

}  // namespace

Luid luid_of(int card) { return {kLuidBase + static_cast<std::uint32_t>(card), 0}; }

HResult query_video_memory_info(Process& caller, int card, std::uint32_t node, SegmentGroup group,
                                QueryVideoMemoryInfo* info) {
  World& world = caller.world;
  const base::Lock lock(world.mutex);
  vidmm::Adapter* adapter = adapter_of(world, card);
  if (adapter == nullptr || caller.dead || !adapter->on(6)) return kUnsupported;
  if (info == nullptr || node != 0 || group > SegmentGroup::kNonLocal) return kInvalidCall;
  vidmm::run_until(*adapter, world.advance());
  *info = info_of(*adapter, vidmm::client_of(*adapter, caller.id()), group);
  return kOk;
}

HResult set_video_memory_reservation(Process& caller, int card, std::uint32_t node, SegmentGroup group,
                                     std::uint64_t bytes) {
  World& world = caller.world;
  const base::Lock lock(world.mutex);
  vidmm::Adapter* adapter = adapter_of(world, card);
  if (adapter == nullptr || caller.dead) return kUnsupported;
  if (node != 0 || group != SegmentGroup::kLocal) return kInvalidCall;
  vidmm::Client& client = vidmm::client_of(*adapter, caller.id());
  if (bytes > vidmm::budget_of(*adapter, client) / 2) return kInvalidCall;
  client.reservation = bytes;
  return kOk;
}

NtStatus query_statistics(Process& caller, QueryStatistics* query) {
  if (query == nullptr) return kStatusInvalidParameter;
  World& world = caller.world;
  const base::Lock lock(world.mutex);
  const int card = static_cast<int>(query->AdapterLuid.LowPart - kLuidBase);
  vidmm::Adapter* adapter = query->AdapterLuid.HighPart == 0 ? adapter_of(world, card) : nullptr;
  if (adapter == nullptr || caller.dead) return kStatusInvalidParameter;
  vidmm::run_until(*adapter, world.advance());
  if (query->Type == StatisticsType::kSegment) return segment(*adapter, *query);
  const int process = query->hProcess == 0 ? caller.id() : static_cast<int>(query->hProcess);
  const auto client = adapter->clients.find(process);
  if (client == adapter->clients.end()) return kStatusInvalidParameter;
  if (query->Type == StatisticsType::kProcessSegment) return process_segment(client->second, *query);
  if (query->Type == StatisticsType::kProcessSegmentGroup) {
    return process_segment_group(*adapter, client->second, *query);
  }
  return kStatusNotSupported;
}

}  // namespace tidegate::sim::win
