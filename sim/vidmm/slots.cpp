// Page tables as 2 MiB slots: large entries, their owners, and what a new tenant meets (W-22, W-28 ... W-30).
#include <algorithm>

#include "sim/vidmm/vidmm.h"

namespace tidegate::sim::vidmm {

namespace {

void report(Adapter& adapter, const char* rule, bool exposure, std::string what, const char* bugcheck,
            CallRef earlier) {
  adapter.findings.push_back({rule, exposure, std::move(what), bugcheck, earlier});
}

// A tenant that is not the recorded owner: the entry is expanded, and the owner looked up (H-2). True: reported.
bool expand(Adapter& adapter, Client& client, const Slot& slot, std::uint64_t number, const VectorClock& host) {
  if (!slot.stale) {
    ++adapter.counters.expansions;
    return false;
  }
  const bool open = slot.clear_at > adapter.now;
  if (open) ++adapter.counters.expansions;
  // An operation queued after the clearing one, and known to be done, is the proof.
  if (!open && proved(client, slot.clear_fence + 1, host)) return false;
  report(adapter, "H-2", !open,
         "slot " + std::to_string(number) +
             (open ? " is expanded while its large entry still names a destroyed allocation, destroyed by"
                   : " gets a new tenant without proof that its large entry was cleared, destroyed by"),
         "0x50 / 0x7E in ExpandLargePagePte", slot.destroyed_by);
  return true;
}

}  // namespace

void write_entries(Adapter& adapter, Client& client, Alloc& alloc, std::uint64_t va, Bytes bytes,
                   const VectorClock& host, CallRef call) {
  if (!adapter.on(28)) return;
  const Bytes size = adapter.slot;
  // The driver waits for the entries of what it placed itself, and clears them before it goes.
  const bool own = alloc.kind == Kind::kVmm;
  bool told_expansion = false;
  bool told_queued = false;
  for (std::uint64_t number = va / size; number < (va + bytes + size - 1) / size; ++number) {
    Slot& slot = client.slots[number];
    const bool other = slot.owner != 0 && slot.owner != alloc.id;
    bool large = adapter.on(30) && own && (number * size >= va && (number + 1) * size <= va + bytes);
    if (other && slot.map_done > adapter.now && !told_queued) {
      told_queued = true;
      report(adapter, "H-8", adapter.on(22),
             std::string("mapped where an older mapping operation is still queued, which is ") +
                 (adapter.on(22) ? "ignored" : "carried out later") + "; queued",
             "0x10E/0x30", slot.mapped_by);
    }
    if (other && slot.large) {
      const bool uncleared = !slot.stale || slot.clear_at > adapter.now;
      if (!told_expansion) told_expansion = expand(adapter, client, slot, number, host);
      if (uncleared) large = false;  // it is a table of leaves now
    }
    const bool recorded = slot.large && !other && slot.owner != 0;
    slot = Slot{};
    slot.owner = alloc.id;
    slot.large = large;
    slot.map_done = own ? alloc.pending_until : 0;
    slot.mapped_by = call;
    if (large && !recorded) alloc.slots.push_back(number);
  }
}

void forget_owner(Adapter& adapter, Client& client, Alloc& alloc, CallRef call) {
  if (alloc.slots.empty()) return;
  if (!adapter.on(29)) {  // the table is invalidated before it is freed
    for (const std::uint64_t number : alloc.slots) {
      const auto found = client.slots.find(number);
      if (found != client.slots.end() && found->second.owner == alloc.id) client.slots.erase(found);
    }
    return;
  }
  const Nanos delay = draw(adapter, 2 * adapter.parameters.reclaim_delay);
  const Nanos clear_at = std::max(client.clears_done_at, adapter.now + delay);  // one process clears, in order
  client.clears_done_at = clear_at;
  for (const std::uint64_t number : alloc.slots) {
    const auto found = client.slots.find(number);
    if (found == client.slots.end() || found->second.owner != alloc.id) continue;
    Slot& slot = found->second;
    slot.stale = true;
    slot.clear_at = clear_at;
    slot.clear_fence = client.last_fence;
    slot.destroyed_by = call;
  }
}

}  // namespace tidegate::sim::vidmm
