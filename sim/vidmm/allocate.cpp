// Allocations come and go; what is gone comes back later (W-3 ... W-5, W-24 ... W-27, W-42).
#include <algorithm>

#include "sim/vidmm/vidmm.h"

namespace tidegate::sim::vidmm {

namespace {

bool stays(Kind kind) { return kind == Kind::kContext || kind == Kind::kForeign; }

// Whether the system commits `bytes` more.
bool admits(Adapter& adapter, Client& client, Bytes bytes) {
  const Parameters& parameters = adapter.parameters;
  if (bytes > adapter.capacity) return false;  // an allocation is resident as a whole, or not at all (W-13)
  const Bytes total = adapter.committed + bytes;
  if (!adapter.on(4) && total > adapter.capacity) return false;
  if (!parameters.sysmem_fallback && adapter.on(42) && total > adapter.capacity) return false;
  if (adapter.on(3) && total > adapter.capacity + parameters.ram / 2) return false;
  // A first context brings the budget with it.
  return adapter.on(5) || !client.partitioned || client.charged + bytes <= budget_of(adapter, client);
}

// How much of a fresh allocation is in VRAM though nothing touched it.
Bytes at_once(const Adapter& adapter, const Client& client, Bytes bytes) {
  if (adapter.parameters.commit_mode != CommitMode::kLazyOnTouch) return 0;
  const Bytes limit = adapter.parameters.untouched_resident;
  return std::min({bytes, limit - std::min(limit, client.untouched), adapter.free()});
}

// The flags that the driver passes and the system heeds (W-25, W-26).
bool assumes_not_in_use(const Adapter& adapter) {
  return adapter.on(25) && adapter.on(26) && adapter.parameters.assume_not_in_use;
}
bool destroys_synchronously(const Adapter& adapter) {
  return adapter.on(25) && adapter.on(26) && adapter.parameters.synchronous_destroy;
}

void take_back_later(Adapter& adapter, Client& client, Bytes resident, Bytes charged, Nanos not_before) {
  const bool inside =
      destroys_synchronously(adapter) || !adapter.on(27) || (adapter.on(36) && client.knobs.force_synchronous_evict);
  const Nanos ready = std::max(not_before, adapter.now) + draw(adapter, 2 * adapter.parameters.reclaim_delay);
  if (inside) {
    adapter.resident -= resident;
    client.charged -= charged;
    return;
  }
  adapter.reclaims[{ready, adapter.next_event++}] = {client.process, resident, charged};
}

// Out of the books, but for what its bytes still occupy until they are reclaimed.
void take_back(Adapter& adapter, Client& client, Alloc& alloc, Nanos not_before) {
  move_to(client, alloc, Place::kNone);
  client.committed -= alloc.bytes;
  adapter.committed -= alloc.bytes;
  const Bytes resident = alloc.resident;
  set_resident(adapter, client, alloc, 0);
  adapter.resident += resident;
  take_back_later(adapter, client, resident, alloc.bytes, not_before);
}

// H-1; and H-11, where the destruction is one that a pool makes on its own account.
void check_pending(Adapter& adapter, Client& client, const Alloc& alloc, const VectorClock& host) {
  if (alloc.fence == 0 || (alloc.kind != Kind::kVmm && alloc.kind != Kind::kPool)) return;
  const bool pool = alloc.kind == Kind::kPool;
  const bool open = alloc.pending_until > adapter.now;
  const bool beside = pool && pending(adapter, client);
  if (!open && !beside && proved(client, alloc.fence, host)) return;
  Finding finding;
  finding.rule = pool ? "H-11" : "H-1";
  finding.exposure = !open;
  finding.what = std::to_string(alloc.bytes / kKiB) + " KiB " + (pool ? "of a pool " : "") + "destroyed ";
  if (open) {
    finding.what += "while an operation of the paging queue that refers to them is pending, queued";
  } else if (beside) {
    finding.what += "while other operations of the paging queue are pending; theirs was queued";
  } else {
    finding.what += "without proof that the paging queue is done with them, queued";
  }
  finding.bugcheck = "0x50 / 0x7E (c0000005) in the worker, or 0x10E/0x38";
  finding.earlier = alloc.queued_by;
  adapter.findings.push_back(std::move(finding));
}

}  // namespace

AllocId create(Adapter& adapter, Client& client, Kind kind, Bytes bytes, CallRef call, Nanos now) {
  run_until(adapter, now);
  const Bytes size = adapter.on(2) ? round_up(bytes, adapter.parameters.page) : bytes;
  if (!admits(adapter, client, size)) return 0;
  Nanos at = now;
  if (stays(kind) && !make_room(adapter, client, size, at)) return 0;
  const AllocId id = adapter.next_id++;
  Alloc& alloc = adapter.allocs[id];
  alloc.id = id;
  alloc.owner = client.process;
  alloc.kind = kind;
  alloc.bytes = size;
  adapter.committed += size;
  client.committed += size;
  client.charged += size;
  if (stays(kind)) {
    alloc.touched = true;
    set_resident(adapter, client, alloc, size);
    return id;
  }
  set_resident(adapter, client, alloc, at_once(adapter, client, size));
  if (adapter.on(36) && client.knobs.place_in_demoted_location) {
    alloc.references = 1;
    place_non_local(adapter, client, alloc);
  } else if (kind != Kind::kVmm) {
    const MakeResidentResult made = make_resident(adapter, client, {id}, false, call, now);
    if (made.status == Residency::kOutOfMemory) {
      alloc.references = 1;
      place_non_local(adapter, client, alloc);
    }
  }
  if (client.arriving) {
    client.arriving = false;
    repartition(adapter);
  }
  if (!adapter.on(9)) repartition(adapter);
  return id;
}

void destroy(Adapter& adapter, Client& client, AllocId id, const VectorClock& host, CallRef call, Nanos now) {
  run_until(adapter, now);
  const auto found = adapter.allocs.find(id);
  if (found == adapter.allocs.end()) return;
  Alloc& alloc = found->second;
  ++adapter.counters.destroys;
  Nanos not_before = now;
  if (assumes_not_in_use(adapter)) {
    check_pending(adapter, client, alloc, host);
  } else if (adapter.on(24)) {
    not_before = std::max(now, client.fence_done_at);
  }
  forget_owner(adapter, client, alloc, call);
  take_back(adapter, client, alloc, not_before);
  adapter.allocs.erase(found);
}

bool resize(Adapter& adapter, Client& client, AllocId id, Bytes bytes, Nanos now) {
  run_until(adapter, now);
  Alloc& alloc = adapter.allocs.at(id);
  const Bytes size = adapter.on(2) ? round_up(bytes, adapter.parameters.page) : bytes;
  Nanos at = now;
  if (size > alloc.bytes) {
    const Bytes more = size - alloc.bytes;
    if (!admits(adapter, client, more) || !make_room(adapter, client, more, at)) return false;
  }
  const Bytes more = size - alloc.bytes;  // may be negative
  adapter.committed += more;
  client.committed += more;
  client.charged += more;
  alloc.bytes = size;
  set_resident(adapter, client, alloc, size);
  return true;
}

namespace {

struct Open {
  Bytes pending = 0;
  Bytes unproved = 0;
  CallRef earlier;
};

// What of the client's list the paging queue may still refer to.
Open open_operations(Adapter& adapter, Client& client, const VectorClock& host) {
  Open open;
  for (const std::list<AllocId>* list : {&client.resident_list, &client.missing, &client.overflow}) {
    for (const AllocId id : *list) {
      const Alloc& alloc = adapter.allocs.at(id);
      if (alloc.fence == 0) continue;
      // What the driver placed itself it has waited for, unless it is under way.
      const bool pends = alloc.pending_until > adapter.now;
      if (!pends && (alloc.kind != Kind::kVmm || proved(client, alloc.fence, host))) continue;
      (pends ? open.pending : open.unproved) += alloc.bytes;
      open.earlier = alloc.queued_by;
    }
  }
  return open;
}

}  // namespace

void end_device(Adapter& adapter, Client& client, const VectorClock& host, CallRef, Nanos now) {
  run_until(adapter, now);
  Bytes left = 0;
  for (const std::list<AllocId>* list : {&client.resident_list, &client.missing, &client.overflow}) {
    for (const AllocId id : *list) {
      const Alloc& alloc = adapter.allocs.at(id);
      if (alloc.kind == Kind::kVmm) left += alloc.bytes;  // the rest the driver takes along
    }
  }
  if (left == 0) return;
  const Open open = open_operations(adapter, client, host);
  adapter.findings.push_back({"H-3", open.pending == 0,
                              "the device goes with " + std::to_string(left / kKiB) + " KiB on its residency list" +
                                  (open.pending > 0 ? ", operations of its paging queue pending, queued last" : ""),
                              "0x10E/0x31, 0x32, 0x33", open.pending > 0 ? open.earlier : CallRef{}});
}

namespace {

void finish_reclaims(Adapter& adapter, Client& client) {
  std::erase_if(adapter.reclaims, [&](const auto& entry) {
    const Reclaim& reclaim = entry.second;
    if (reclaim.process != client.process) return false;
    adapter.resident -= reclaim.resident;
    client.charged -= reclaim.charged;
    return true;
  });
}

}  // namespace

void end_context(Adapter& adapter, Client& client) {
  finish_reclaims(adapter, client);
  repartition(adapter);
}

void end_process(Adapter& adapter, Client& client, const VectorClock& host, Nanos now) {
  run_until(adapter, now);
  // H-6: the system's own cleanup meets what a release would have met.
  const Open open = open_operations(adapter, client, host);
  if (open.pending + open.unproved > 0) {
    adapter.findings.push_back({"H-6", open.pending == 0,
                                "ended with " + std::to_string((open.pending + open.unproved) / kKiB) +
                                    " KiB that the paging queue may still refer to, queued last",
                                "as H-1, in the system's own cleanup", open.earlier});
  }
  std::vector<AllocId> own;
  for (const auto& [id, alloc] : adapter.allocs) {
    if (alloc.owner == client.process) own.push_back(id);
  }
  std::sort(own.begin(), own.end());
  for (const AllocId id : own) {
    const auto found = adapter.allocs.find(id);
    take_back(adapter, client, found->second, now);
    adapter.allocs.erase(found);
  }
  finish_reclaims(adapter, client);
  adapter.clients.erase(client.process);
  repartition(adapter);
}

}  // namespace tidegate::sim::vidmm
