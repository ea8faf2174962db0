// The paging queue, its fences, and what proves that an operation of it is done (W-20, W-21).
#include <algorithm>

#include "sim/vidmm/vidmm.h"

namespace tidegate::sim::vidmm {

namespace {

// kAsyncRate: a worker fills untouched memory, oldest first, as far as there is room.
void fill(Adapter& adapter, Nanos span) {
  Bytes left = static_cast<Bytes>(adapter.parameters.fill_mib_per_s * static_cast<double>(span) / 1e9 *
                                  static_cast<double>(kMiB));
  for (auto& [process, client] : adapter.clients) {
    for (const AllocId id : client.missing) {
      Alloc& alloc = adapter.allocs.at(id);
      if (alloc.touched) continue;
      const Bytes part = std::min({left, alloc.bytes - alloc.resident, adapter.free()});
      set_resident(adapter, client, alloc, alloc.resident + part);
      left -= part;
    }
  }
}

}  // namespace

Nanos draw(Adapter& adapter, Nanos limit) {
  return static_cast<Nanos>(adapter.random.below(static_cast<std::uint64_t>(limit) + 1));
}

void run_until(Adapter& adapter, Nanos now) {
  if (now < adapter.now) return;
  while (!adapter.reclaims.empty() && adapter.reclaims.begin()->first.first <= now) {
    const Reclaim done = adapter.reclaims.begin()->second;
    adapter.reclaims.erase(adapter.reclaims.begin());
    adapter.resident -= done.resident;
    const auto found = adapter.clients.find(done.process);
    if (found != adapter.clients.end()) found->second.charged -= done.charged;
  }
  if (adapter.parameters.commit_mode == CommitMode::kAsyncRate) fill(adapter, now - adapter.now);
  adapter.now = now;
}

Fence enqueue(Adapter& adapter, Client& client, Alloc* alloc, Nanos not_before, Nanos cost, CallRef call) {
  const Nanos begin = std::max({adapter.now, not_before, client.held_until});
  Nanos done = begin + cost;
  // With W-20 off an operation may overtake those before it.
  if (adapter.on(20)) done = std::max(begin, client.fence_done_at) + cost;
  client.pending_time += std::max<Nanos>(0, done - std::max(adapter.now, client.fence_done_at));
  client.fence_done_at = adapter.on(20) ? done : std::max(client.fence_done_at, done);
  ++client.last_fence;
  if (alloc != nullptr) {
    alloc->fence = client.last_fence;
    alloc->pending_until = done;
    alloc->queued_by = call;
  }
  return client.last_fence;
}

bool proved(Client& client, Fence fence, const VectorClock& host) {
  if (fence <= client.proved) return true;
  for (const Mark& mark : client.marks) {
    if (mark.fence > client.proved && host.covers(mark.stamp)) client.proved = mark.fence;
  }
  while (!client.marks.empty() && client.marks.front().fence <= client.proved) client.marks.pop_front();
  return fence <= client.proved;
}

bool pending(const Adapter& adapter, const Client& client) { return client.fence_done_at > adapter.now; }

}  // namespace tidegate::sim::vidmm
