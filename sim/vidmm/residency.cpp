// Residency: what must be in VRAM before a device's work runs, and who has to go for it (W-13 ... W-15, W-31 ... W-33).
#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/vidmm/vidmm.h"

namespace tidegate::sim::vidmm {

namespace {

Nanos transfer(Bytes bytes, double gb_per_s) { return std::llround(static_cast<double>(bytes) / gb_per_s); }

std::list<AllocId>& list_of(Client& client, Place place) {
  if (place == Place::kResident) return client.resident_list;
  return place == Place::kMissing ? client.missing : client.overflow;
}

bool lies_demoted(const Alloc& alloc) {
  return alloc.place == Place::kNonLocal || (alloc.place == Place::kMissing && alloc.touched);
}

// Memory that was allocated and never touched can be taken back without a transfer.
bool drop_untouched(Adapter& adapter, Client& client) {
  if (client.untouched == 0) return false;
  for (auto it = client.missing.begin(); it != client.missing.end(); ++it) {
    Alloc& alloc = adapter.allocs.at(*it);
    if (alloc.touched || alloc.resident == 0) continue;
    set_resident(adapter, client, alloc, 0);
    return true;
  }
  return false;
}

// The next to be demoted for `requester`: over budget first, then lower priority, then idle longest (W-32). Null:
// nobody.
Client* victim_for(Adapter& adapter, const Client& requester) {
  if (!adapter.on(31) || adapter.no_demotion) return nullptr;
  Client* best = nullptr;
  std::tuple<int, int, std::uint64_t> best_rank;
  for (auto& [process, client] : adapter.clients) {
    if (&client == &requester || (client.resident_list.empty() && client.untouched == 0)) continue;
    const bool over = client.committed - client.demoted > client.budget;
    const auto rank = std::make_tuple(over ? 0 : 1, client.visible ? client.priority : 0, client.last_submit);
    if (best == nullptr || (adapter.on(32) && rank < best_rank)) {
      best = &client;
      best_rank = rank;
    }
  }
  return best;
}

}  // namespace

void set_resident(Adapter& adapter, Client& client, Alloc& alloc, Bytes bytes) {
  // Differences may be negative; the sums are not.
  const Bytes more = bytes - alloc.resident;
  adapter.resident += more;
  client.resident += more;
  if (!alloc.touched) client.untouched += more;
  if (alloc.kind == Kind::kContext || alloc.kind == Kind::kForeign) client.fixed += more;
  if (alloc.place == Place::kMissing) client.owed -= more;
  alloc.resident = bytes;
}

void set_touched(Client& client, Alloc& alloc) {
  if (alloc.touched) return;
  if (alloc.place == Place::kMissing) client.demoted += alloc.bytes;
  client.untouched -= alloc.resident;
  alloc.touched = true;
}

void move_to(Client& client, Alloc& alloc, Place place) {
  if (alloc.place != Place::kNone) {
    if (alloc.place == Place::kMissing) client.owed -= alloc.bytes - alloc.resident;
    if (lies_demoted(alloc)) client.demoted -= alloc.bytes;
    if (alloc.place == Place::kNonLocal) client.non_local -= alloc.bytes;
    list_of(client, alloc.place).erase(alloc.at);
  }
  alloc.place = place;
  if (place == Place::kNone) return;
  std::list<AllocId>& list = list_of(client, place);
  alloc.at = list.insert(list.end(), alloc.id);
  if (place == Place::kMissing) client.owed += alloc.bytes - alloc.resident;
  if (lies_demoted(alloc)) client.demoted += alloc.bytes;
  if (place == Place::kNonLocal) client.non_local += alloc.bytes;
}

void demote(Adapter& adapter, Client& client, Alloc& alloc) {
  const Bytes bytes = alloc.resident;
  set_resident(adapter, client, alloc, 0);
  move_to(client, alloc, alloc.references > 0 ? Place::kMissing : Place::kNone);
  client.evicted_total += bytes;
  ++adapter.counters.evictions;
  adapter.counters.evicted += bytes;
  adapter.counters.evicted_by_priority[static_cast<std::size_t>(client.priority)] += bytes;
  const Parameters& parameters = adapter.parameters;
  if (adapter.on(41) && adapter.now > client.not_ready_until) {  // once per episode
    client.not_ready_armed = adapter.random.unit() < parameters.not_ready_probability;
    client.not_ready_until = adapter.now + parameters.not_ready_window_min +
                             draw(adapter, parameters.not_ready_window_max - parameters.not_ready_window_min);
  }
}

void demote_down_to(Adapter& adapter, Client& client, Bytes keep) {
  while (client.resident > keep && drop_untouched(adapter, client)) {
  }
  while (client.resident > keep && !client.resident_list.empty()) {
    demote(adapter, client, adapter.allocs.at(client.resident_list.front()));
  }
}

bool make_room(Adapter& adapter, Client& client, Bytes bytes, Nanos& at) {
  while (adapter.free() < bytes) {
    // What is on its way back needs no victim, only patience.
    const auto coming = std::find_if(adapter.reclaims.begin(), adapter.reclaims.end(),
                                     [](const auto& entry) { return entry.second.resident > 0; });
    if (coming != adapter.reclaims.end()) {
      at = std::max(at, coming->first.first);
      adapter.resident -= coming->second.resident;
      coming->second.resident = 0;
      continue;
    }
    Client* victim = victim_for(adapter, client);
    if (victim == nullptr) return drop_untouched(adapter, client) && make_room(adapter, client, bytes, at);
    if (drop_untouched(adapter, *victim)) continue;
    if (victim->resident_list.empty()) return false;
    demote(adapter, *victim, adapter.allocs.at(victim->resident_list.front()));
  }
  return true;
}

void place_non_local(Adapter& adapter, Client& client, Alloc& alloc) {
  set_resident(adapter, client, alloc, 0);
  move_to(client, alloc, Place::kNonLocal);
}

Fence remap(Adapter& adapter, Client& client, Alloc& alloc, CallRef call, Nanos now) {
  const Nanos latency = draw(adapter, adapter.parameters.map_latency);
  return enqueue(adapter, client, &alloc, std::max(client.clears_done_at, now + latency), 0, call);
}

MakeResidentResult make_resident(Adapter& adapter, Client& client, const std::vector<AllocId>& ids,
                                 bool cant_trim_further, CallRef call, Nanos now) {
  run_until(adapter, now);
  MakeResidentResult result;
  Bytes need = 0;
  for (const AllocId id : ids) {
    const Alloc& alloc = adapter.allocs.at(id);
    need += alloc.references == 0 ? alloc.bytes - alloc.resident : 0;
  }
  // What could be had: all that others can be made to give up, and what the device's own list does not claim.
  Bytes claimed = 0;
  for (const auto& [process, other] : adapter.clients) {
    const bool own = &other == &client;
    Bytes movable = own || !adapter.on(31) || adapter.no_demotion ? 0 : other.resident;
    if (!own && movable > 0) movable -= std::min(movable, other.fixed);
    claimed += other.resident - movable;
  }
  const Bytes available = adapter.capacity - std::min(adapter.capacity, claimed + client.owed);
  const bool lacks = need > available;
  if (lacks && adapter.on(15)) {
    result.status = Residency::kOutOfMemory;
    result.bytes_to_trim = need - available;
    if (cant_trim_further) client.in_error = true;
    return result;
  }
  for (const AllocId id : ids) {
    Alloc& alloc = adapter.allocs.at(id);
    if (alloc.references++ > 0 && adapter.on(14)) continue;
    if (alloc.references > 1) alloc.references = 1;  // without W-14 a second call counts for nothing
    if (alloc.place == Place::kNone) move_to(client, alloc, Place::kMissing);
    result.fence = remap(adapter, client, alloc, call, now);
    if (adapter.parameters.commit_mode != CommitMode::kEager || alloc.touched) continue;
    Nanos at = now;
    if (make_room(adapter, client, alloc.bytes - alloc.resident, at)) {
      set_resident(adapter, client, alloc, alloc.bytes);
    }
  }
  result.status = pending(adapter, client) ? Residency::kPending : Residency::kOk;
  return result;
}

void evict(Adapter& adapter, Client& client, AllocId id) {
  Alloc& alloc = adapter.allocs.at(id);
  if (alloc.references == 0 || --alloc.references > 0) return;
  if (alloc.place == Place::kResident) demote(adapter, client, alloc);
  move_to(client, alloc, Place::kNone);
}

namespace {

// Brings one allocation of the list in. Costs are those of its own transfer; it queues behind the others.
void page_in(Adapter& adapter, Client& client, Alloc& alloc, Nanos latency, CallRef call) {
  const Parameters& parameters = adapter.parameters;
  const Bytes need = alloc.bytes - alloc.resident;
  Nanos at = adapter.now;
  const Bytes limit = adapter.on(36) ? client.knobs.restrict_budget_local : 0;
  if ((limit > 0 && client.resident + need > limit) || !make_room(adapter, client, need, at)) {
    place_non_local(adapter, client, alloc);
    return;
  }
  const bool contents = alloc.touched;
  const Nanos cost = contents ? transfer(need, parameters.page_gb_per_s) : transfer(need, adapter.vram_gb_per_s);
  adapter.counters.paged_in += contents ? need : 0;
  set_resident(adapter, client, alloc, alloc.bytes);
  move_to(client, alloc, Place::kResident);
  set_touched(client, alloc);
  // What was never touched comes in with the operation that mapped it, which is queued already.
  if (cost == 0 && at <= adapter.now) return;
  // Entries are written after those that were to be cleared before.
  at = std::max({at, client.clears_done_at, adapter.now + latency});
  (void)enqueue(adapter, client, &alloc, at, adapter.on(33) ? cost : 0, call);
  if (contents) client.page_ins_done_at = client.fence_done_at;
}

}  // namespace

Nanos schedule(Adapter& adapter, Client& client, Stamp stamp, const std::vector<AllocId>& touched, CallRef call,
               Nanos now) {
  run_until(adapter, now);
  client.last_submit = ++adapter.submissions;
  // Room that has come up since brings back what had to be placed in system memory.
  while (!client.overflow.empty() && !(client.knobs.place_in_demoted_location && adapter.on(36))) {
    Alloc& first = adapter.allocs.at(client.overflow.front());
    const Bytes limit = adapter.on(36) ? client.knobs.restrict_budget_local : 0;
    if (adapter.free() < first.bytes || (limit > 0 && client.resident + first.bytes > limit)) break;
    set_touched(client, first);
    move_to(client, first, Place::kMissing);
  }
  if (!client.missing.empty()) {
    const bool transfers = client.demoted > client.non_local;
    Nanos latency = transfers ? draw(adapter, adapter.parameters.page_in_latency) : 0;
    const std::vector<AllocId> wanted =
        adapter.on(13) ? std::vector<AllocId>(client.missing.begin(), client.missing.end()) : touched;
    for (const AllocId id : wanted) {
      const auto found = adapter.allocs.find(id);
      if (found == adapter.allocs.end() || found->second.place != Place::kMissing) continue;
      page_in(adapter, client, found->second, latency, call);
      latency = 0;
    }
  }
  if (stamp.slot >= client.marked.size()) client.marked.resize(stamp.slot + 1, 0);
  if (client.last_fence > client.marked[stamp.slot]) {
    client.marked[stamp.slot] = client.last_fence;
    client.marks.push_back({client.last_fence, stamp});
  }
  const Nanos paged = adapter.on(21) ? client.fence_done_at : now;
  return std::max({now, paged, client.suspended_until});
}

}  // namespace tidegate::sim::vidmm
