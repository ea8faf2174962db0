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
    info.budget = vidmm::budget_of(adapter, client);
    info.current_usage = client.charged - client.demoted;
    if (!adapter.on(12)) info.current_usage = adapter.resident;
    info.current_reservation = client.reservation;
    info.available_for_reservation = info.budget / 2 - std::min(info.budget / 2, client.reservation);
  } else if (adapter.on(1)) {
    info.budget = non_local_limit(adapter);
    info.current_usage = client.non_local;
    info.available_for_reservation = info.budget / 2;
  }
  return info;
}

template <typename Information>
NtStatus give(QueryStatistics& query, const Information& information) {
  static_assert(sizeof information <= sizeof query.result);
  std::memset(query.result, 0, sizeof query.result);
  std::memcpy(query.result, &information, sizeof information);
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
  if (query.selector == 0) {
    out.commit_limit = adapter.capacity;
    out.bytes_committed = adapter.committed;
    out.bytes_resident = adapter.resident;
    out.memory.total_bytes_evicted = adapter.counters.evicted;
    out.memory.allocs_committed = static_cast<std::uint32_t>(adapter.allocs.size());
    for (const auto& [process, client] : adapter.clients) {
      out.memory.allocs_resident += static_cast<std::uint32_t>(client.resident_list.size());
    }
    std::copy(adapter.counters.evicted_by_priority.begin(), adapter.counters.evicted_by_priority.end(),
              out.total_bytes_evicted_by_priority);
    return give(query, out);
  }
  if (query.selector != 1 || !adapter.on(1)) return kStatusInvalidParameter;
  out.commit_limit = non_local_limit(adapter);
  out.bytes_committed = demoted;
  out.bytes_resident = non_local;
  out.aperture = 1;
  return give(query, out);
}

NtStatus process_segment(const vidmm::Client& client, QueryStatistics& query) {
  if (query.selector > 1) return kStatusInvalidParameter;
  ProcessSegmentInformation out{};
  if (query.selector == 0) {
    out.bytes_committed = client.committed;
    out.maximum_working_set = client.budget;
    const auto priority = static_cast<std::size_t>(client.priority);
    out.video_memory.allocs_resident_in_p[priority] = {static_cast<std::uint32_t>(client.resident_list.size()),
                                                       client.resident};
    out.video_memory.allocs_resident_in_non_preferred = {static_cast<std::uint32_t>(client.overflow.size()),
                                                         client.non_local};
    out.video_memory.total_bytes_evicted_due_to_preparation = client.evicted_total;
  } else {
    out.bytes_committed = client.demoted;
  }
  return give(query, out);
}

NtStatus process_segment_group(vidmm::Adapter& adapter, vidmm::Client& client, QueryStatistics& query) {
  if (query.selector > 1) return kStatusInvalidParameter;
  const auto group = static_cast<SegmentGroup>(query.selector);
  const QueryVideoMemoryInfo info = info_of(adapter, client, group);
  ProcessSegmentGroupInformation out{};
  out.budget = info.budget;
  out.usage = info.current_usage;
  out.requested = info.current_usage;
  if (group == SegmentGroup::kLocal) {
    out.requested += client.demoted;
    out.demoted[client.priority] = client.demoted;
  }
  return give(query, out);
}

}  // namespace

Luid luid_of(int card) { return {kLuidBase + static_cast<std::uint32_t>(card), 0}; }

bool describe_adapter(Process& caller, int card, AdapterDescription* description) {
  World& world = caller.world;
  const base::Lock lock(world.mutex);
  const vidmm::Adapter* adapter = adapter_of(world, card);
  if (adapter == nullptr) return false;
  const Profile& profile = world.cards[static_cast<std::size_t>(card)]->profile;
  *description = {profile.device_name, luid_of(card), profile.cuda_total(), non_local_limit(*adapter)};
  return true;
}

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
  const int card = static_cast<int>(query->adapter_luid.low_part - kLuidBase);
  vidmm::Adapter* adapter = query->adapter_luid.high_part == 0 ? adapter_of(world, card) : nullptr;
  if (adapter == nullptr || caller.dead) return kStatusInvalidParameter;
  vidmm::run_until(*adapter, world.advance());
  if (query->type == StatisticsType::kSegment) return segment(*adapter, *query);
  const int process = query->process == 0 ? caller.id() : static_cast<int>(query->process);
  const auto client = adapter->clients.find(process);
  if (client == adapter->clients.end()) return kStatusInvalidParameter;
  if (query->type == StatisticsType::kProcessSegment) return process_segment(client->second, *query);
  if (query->type == StatisticsType::kProcessSegmentGroup) {
    return process_segment_group(*adapter, client->second, *query);
  }
  return kStatusNotSupported;
}

}  // namespace tidegate::sim::win
