// Budgets: what a process is told (W-5 ... W-12).
#include <algorithm>

#include "sim/vidmm/vidmm.h"

namespace tidegate::sim::vidmm {

namespace {

// What a partition gives a process while `free` is free: what it has, what is free and a little more, but never more
// than an idle machine's budget.
Bytes share_of(const Adapter& adapter, const Client& client, Bytes free) {
  if (!adapter.on(11)) return client.charged + free;
  return std::min(adapter.parameters.budget_idle, client.charged + free + adapter.parameters.bias_repartition);
}

Bytes held_by_others(const Adapter& adapter, const Client& client) { return adapter.resident - client.resident; }

}  // namespace

Client& client_of(Adapter& adapter, int process) {
  Client& client = adapter.clients[process];
  client.process = process;
  return client;
}

void repartition(Adapter& adapter) {
  ++adapter.counters.repartitions;
  for (auto& [process, client] : adapter.clients) {
    client.budget = share_of(adapter, client, adapter.free());
    client.partitioned = true;
    client.others_then = held_by_others(adapter, client);
    client.drifted = false;
    client.drift = 0;
  }
}

void begin_context(Adapter& adapter, Client& client) {
  repartition(adapter);
  if (++client.contexts > 1) return;
  client.arriving = std::any_of(adapter.clients.begin(), adapter.clients.end(), [&](const auto& entry) {
    return entry.second.budget < adapter.parameters.budget_idle;
  });
}

Bytes budget_of(Adapter& adapter, Client& client) {
  const Parameters& parameters = adapter.parameters;
  const auto limit = static_cast<Bytes>(static_cast<double>(adapter.capacity) * parameters.drift_beyond);
  if (!client.drifted && held_by_others(adapter, client) > client.others_then + limit) {
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
  repartition(adapter);
}

}  // namespace tidegate::sim::vidmm
