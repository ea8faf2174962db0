#include "sim/wddm_control.h"

#include <algorithm>

#include "sim/vidmm/vidmm.h"
#include "sim/wddm_personality.h"
#include "sim/world.h"

namespace tidegate::sim::wddm {

namespace {

// Runs body(adapter, client) under the lock with everything due done; false where the card is not of Windows.
template <typename Body>
bool with(Process& process, int card, Body&& body) {
  World& world = process.world;
  const base::Lock lock(world.mutex);
  if (card < 0 || card >= static_cast<int>(world.cards.size())) return false;
  WddmPersonality* personality = world.cards[static_cast<std::size_t>(card)]->personality->as_wddm();
  if (personality == nullptr || process.dead) return false;
  const base::Nanos now = world.advance();
  vidmm::Adapter& adapter = personality->adapter();
  vidmm::run_until(adapter, now);
  body(adapter, vidmm::client_of(adapter, process.id()));
  return true;
}

}  // namespace

Ledgers ledgers_of(Process& process, int card) {
  Ledgers out;
  with(process, card, [&](vidmm::Adapter& adapter, vidmm::Client& client) {
    out = {vidmm::budget_of(adapter, client),
           client.committed,
           client.resident,
           client.committed - client.demoted,
           client.demoted,
           client.evicted_total,
           client.pending_time};
  });
  return out;
}

vidmm::Counters counters_of(Process& any, int card) {
  vidmm::Counters out;
  with(any, card, [&](vidmm::Adapter& adapter, vidmm::Client&) { out = adapter.counters; });
  return out;
}

CardLedgers card_ledgers_of(Process& any, int card) {
  CardLedgers out;
  with(any, card, [&](vidmm::Adapter& adapter, vidmm::Client&) {
    out = {adapter.capacity, adapter.committed, adapter.resident, 0};
    for (const auto& [when, reclaim] : adapter.reclaims) out.reclaiming += reclaim.resident;
  });
  return out;
}

bool set_knobs(Process& process, const vidmm::Knobs& knobs, int card) {
  return with(process, card, [&](vidmm::Adapter& adapter, vidmm::Client& client) {
    client.knobs = knobs;
    const Bytes limit = knobs.restrict_budget_local;
    if (limit > 0 && adapter.on(36)) vidmm::demote_down_to(adapter, client, limit);
  });
}

bool set_no_demotion(Process& any, bool value, int card) {
  return with(any, card, [&](vidmm::Adapter& adapter, vidmm::Client&) { adapter.no_demotion = value; });
}

bool evict_process(Process& process, int card) {
  return with(process, card, [&](vidmm::Adapter& adapter, vidmm::Client& client) {
    if (adapter.on(36)) vidmm::demote_down_to(adapter, client, 0);
  });
}

bool delay_execution(Process& process, base::Nanos time, int card) {
  return with(process, card, [&](vidmm::Adapter& adapter, vidmm::Client& client) {
    if (adapter.on(36)) client.held_until = std::max(client.held_until, adapter.now + time);
  });
}

bool suspend(Process& process, base::Nanos time, int card) {
  return with(process, card, [&](vidmm::Adapter& adapter, vidmm::Client& client) {
    if (adapter.on(34)) client.suspended_until = std::max(client.suspended_until, adapter.now + time);
  });
}

bool set_visible(Process& process, bool visible, int card) {
  return with(process, card,
              [&](vidmm::Adapter& adapter, vidmm::Client& client) { vidmm::set_visibility(adapter, client, visible); });
}

bool set_priority(Process& process, int priority, int card) {
  return with(process, card,
              [&](vidmm::Adapter&, vidmm::Client& client) { client.priority = std::clamp(priority, 0, 4); });
}

}  // namespace tidegate::sim::wddm
