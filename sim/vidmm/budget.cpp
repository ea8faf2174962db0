// Budgets: what a process is told (W-5 ... W-12).
#include <algorithm>

#include "sim/vidmm/vidmm.h"

namespace tidegate::sim::vidmm {

namespace {
Bytes part_of(Bytes whole, double fraction) { return static_cast<Bytes>(static_cast<double>(whole) * fraction); }
}  // namespace

bool contended(const Adapter& adapter, int except) {
  Bytes held = 0;
  for (const auto& [process, client] : adapter.clients) {
    if (process != except) held += client.entered ? client.committed : 0;
  }
  return held >= part_of(adapter.capacity, adapter.parameters.contended_fraction);
}

Client& client_of(Adapter& adapter, int process) {
  Client& client = adapter.clients[process];
  client.process = process;
  return client;
}

void repartition(Adapter& adapter, int newcomer) {
  ++adapter.counters.repartitions;
  const Parameters& parameters = adapter.parameters;
  const bool shared = contended(adapter, newcomer);
  const Bytes free = adapter.free();
  for (auto& [process, client] : adapter.clients) {
    const bool known = client.partitioned && process != newcomer;
    if (client.partitioned && process == newcomer && client.entered) continue;  // its first bytes: others are moved
    if (shared && known) {
      client.budget = client.charged + free + parameters.bias_repartition;
    } else {
      const Bytes bias = adapter.on(11) ? parameters.bias_pinned : 0;
      client.budget = client.charged + free - std::min(free, bias);
    }
    client.partitioned = true;
    client.drifted = false;
    client.drift = 0;
  }
}

Bytes budget_of(Adapter& adapter, Client& client) {
  const Parameters& parameters = adapter.parameters;
  const bool pressed = adapter.free() < part_of(adapter.capacity, parameters.drift_below);
  // The pressure must come from others: what a process takes itself it is told exactly.
  const bool by_others = adapter.resident - client.resident > part_of(adapter.capacity, 1 - parameters.drift_below) / 2;
  if (pressed && by_others && !client.drifted) {
    client.drifted = true;
    client.drift = adapter.random.below(parameters.pressure_drift / kMiB + 1) * kMiB;
  }
  Bytes budget = client.budget - std::min(client.budget, client.drift);
  if (adapter.on(36) && client.knobs.restrict_budget_local > 0) {
    budget = std::min(budget, client.knobs.restrict_budget_local);
  }
  return budget;
}

Bytes process_free(Adapter& adapter, Client& client) {
  if (!adapter.on(10)) return adapter.free();
  const Bytes budget = budget_of(adapter, client);
  return budget - std::min(budget, client.charged);
}

void set_visibility(Adapter& adapter, Client& client, bool visible) {
  if (client.visible == visible) return;
  client.visible = visible;
  repartition(adapter, 0);
}

}  // namespace tidegate::sim::vidmm
