#include "sim/process.h"

#include <algorithm>

#include "sim/sim_call.h"
#include "sim/sim_nvml.h"

namespace tidegate::sim {

namespace {
// Each process its own part of the address space, so that one's address means nothing to another; below what the
// system hands out for host memory.
constexpr Bytes kSpace = Bytes{1} << 40;
cu::DevicePtr space_base(int id) { return kSpace * (1 + static_cast<Bytes>(id) % 64); }

bool reuses_addresses(const World& world) {
  return std::any_of(world.cards.begin(), world.cards.end(),
                     [](const auto& card) { return card->personality->reuses_addresses(); });
}
}  // namespace

Process::Process(World& the_world, int id, std::string name, int pid, std::unique_ptr<HostAccess> the_host)
    : world(the_world),
      space(space_base(id), kSpace, reuses_addresses(the_world)),
      own_host(std::move(the_host)),
      host_memory(own_host ? *own_host : direct_host_access()),
      pinned(host_memory),
      id_(id),
      pid_(pid == 0 ? id : pid),
      name_(std::move(name)),
      driver_(std::make_unique<SimDriver>(the_world, *this)),
      nvml_(std::make_unique<SimNvml>(the_world, *this)) {}

Process::~Process() = default;

driver::Driver& Process::driver() { return *driver_; }
driver::Nvml& Process::nvml() { return *nvml_; }

bool Process::alive() const {
  const base::Lock lock(world.mutex);
  return !dead;
}

Stats Process::stats() const {
  const base::Lock lock(world.mutex);
  return counters;
}

void Process::fail_calls(driver::FunctionId id, cu::Status status, std::uint64_t times, std::uint64_t skip) {
  if (times == 0) return;
  const base::Lock lock(world.mutex);
  injections.push_back({id, status, skip, times});
}

bool Process::hold(int card_index, Bytes bytes) {
  const base::Lock lock(world.mutex);
  const base::Nanos now = world.advance();
  CardState& card = *world.cards[static_cast<std::size_t>(card_index)];
  Holding& held = graphics[card_index];
  held.kind = HoldingKind::kForeign;
  const Bytes before = held.bytes;
  if (!card.personality->resize(*this, held, bytes, now)) return false;
  counters.committed += bytes - before;
  counters.peak_committed = std::max(counters.peak_committed, counters.committed);
  return true;
}

std::uint32_t Process::take_slot() {
  // One whose former stream's work the host has seen: a new stream there is ordered after it.
  for (std::size_t i = 0; i < free_slots.size(); ++i) {
    const std::uint32_t slot = free_slots[i];
    if (!host.covers({slot, slots[slot]})) continue;
    free_slots.erase(free_slots.begin() + static_cast<std::ptrdiff_t>(i));
    return slot;
  }
  slots.push_back(0);
  return static_cast<std::uint32_t>(slots.size() - 1);
}

void Process::die() {
  if (dead) return;
  dead = true;
  for (const auto& [handle, context] : contexts) world.drop_work(*context);
  captures.clear();
  graphs.clear();
  functions.clear();
  modules.clear();
  events.clear();
  streams.clear();
  contexts.clear();
  for (const auto& [handle, block] : handles) block->committed = false;
  for (const auto& [va, mapping] : space.mappings()) mapping->block->committed = false;
  for (const auto& [va, block] : chunks) block->committed = false;
  handles.clear();
  chunks.clear();
  pools.clear();
  small.clear();
  graphics.clear();
  space = AddressSpace(space_base(id_), kSpace, reuses_addresses(world));
  for (const auto& card : world.cards) {
    card->personality->process_ended(*this, world.timeline.now());
  }
  counters.committed = 0;
  counters.pinned = 0;
  // Page-locked memory stays until the machine ends: here the process's code may still run to its end.
  world.executor.notify_all(world.changed);
}

}  // namespace tidegate::sim
