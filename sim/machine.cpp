#include "sim/machine.h"

#include <cassert>

#include "sim/world.h"
#include "src/base/checksum.h"

namespace tidegate::sim {

Machine::Machine(base::Executor& executor, std::uint64_t seed, MachineOptions options)
    : world_(std::make_unique<World>(executor, seed, options)) {}

Machine::~Machine() {
  const base::Lock lock(world_->mutex);
  for (const auto& process : world_->processes) process->die();
}

int Machine::add_card(const Profile& profile) {
  const base::Lock lock(world_->mutex);
  assert(world_->processes.empty() && world_->cards.size() < static_cast<std::size_t>(kMaxCards));
  auto card = std::make_unique<CardState>();
  card->index = world_->timeline.add_card();
  card->profile = profile;
  card->personality = make_personality(*world_, *card);
  base::Random random(base::mix64(world_->seed) + static_cast<std::uint64_t>(card->index));
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t word = random.next();
    for (int i = 0; i < 8; ++i) card->uuid.bytes[half * 8 + i] = static_cast<unsigned char>(word >> (8 * i));
  }
  world_->cards.push_back(std::move(card));
  return world_->cards.back()->index;
}

const Profile& Machine::profile(int card) const { return world_->cards.at(static_cast<std::size_t>(card))->profile; }
cu::Uuid Machine::uuid(int card) const { return world_->cards.at(static_cast<std::size_t>(card))->uuid; }

Process& Machine::start_process(const std::string& name, int pid, std::unique_ptr<HostAccess> host) {
  const base::Lock lock(world_->mutex);
  const int id = ++world_->last_process;
  world_->processes.push_back(std::make_unique<Process>(*world_, id, name, pid, std::move(host)));
  if (world_->options.trace) world_->log("process " + std::to_string(id) + " starts: " + name);
  return *world_->processes.back();
}

void Machine::kill(Process& process) {
  const base::Lock lock(world_->mutex);
  world_->advance();
  if (world_->options.trace) world_->log("process " + std::to_string(process.id()) + " is killed");
  process.die();
}

void Machine::forget(Process& process) {
  const base::Lock lock(world_->mutex);
  assert(process.dead);
  std::erase_if(world_->processes, [&](const auto& known) { return known.get() == &process; });
}

void Machine::end_thread(Process& process) {
  const base::Lock lock(world_->mutex);
  process.threads.erase(world_->executor.caller_id());
}

bool Machine::declare_tagged_host(const void* base, Bytes size, std::uint64_t tag, std::vector<RealRange> real,
                                  bool pinned) {
  const base::Lock lock(world_->mutex);
  return world_->declared.declare(base, size, tag, std::move(real), pinned);
}

bool Machine::undeclare_host(const void* base) {
  const base::Lock lock(world_->mutex);
  return world_->declared.undeclare(base);
}

std::uint64_t Machine::expected_checksum(const void* host, Bytes bytes) const {
  std::vector<Piece> pieces;
  {
    const base::Lock lock(world_->mutex);
    world_->declared.pieces(host, bytes, pieces);
  }
  ChecksumSum sum;
  for (const Piece& piece : pieces) sum.add(piece);
  return sum.finish();
}

Hazards Machine::hazards() const {
  const base::Lock lock(world_->mutex);
  return world_->hazards;
}

std::vector<std::string> Machine::messages() const {
  const base::Lock lock(world_->mutex);
  return world_->messages;
}

std::string Machine::trace() const {
  const base::Lock lock(world_->mutex);
  return world_->trace;
}

Bytes Machine::used(int card) const {
  const base::Lock lock(world_->mutex);
  return world_->cards.at(static_cast<std::size_t>(card))->used;
}

Bytes Machine::peak_used(int card) const {
  const base::Lock lock(world_->mutex);
  return world_->cards.at(static_cast<std::size_t>(card))->peak;
}

base::Nanos Machine::busy_ns(int card, EngineKind engine) const {
  assert(engine != EngineKind::kNone);
  const base::Lock lock(world_->mutex);
  return world_->timeline.busy_ns(card, engine);
}

void Machine::advance() {
  const base::Lock lock(world_->mutex);
  world_->advance();
}

base::Nanos Machine::now() const { return world_->executor.now(); }

Result<Machine::SharedBytes> Machine::share_bytes(Process& process, cu::DevicePtr address, Bytes bytes) {
  const base::Lock lock(world_->mutex);
  world_->advance();
  const std::shared_ptr<Mapping> mapping = process.space.find(address);
  if (mapping == nullptr || bytes > mapping->end() - address) {
    return Error{Errc::kInvalidArgument, "these are no device addresses of one mapping"};
  }
  const Bytes offset = mapping->block_offset + (address - mapping->va);
  Content& content = mapping->block->content;
  const int file = content.share(offset, offset + bytes);
  if (content.bytes() == nullptr) return Error{Errc::kNotFound, "content tags stand there, which have no bytes"};
  return SharedBytes{file, offset, content.bytes() + offset};
}

Bytes Machine::held_by(const Process& process, int card) const {
  const base::Lock lock(world_->mutex);
  return world_->cards.at(static_cast<std::size_t>(card))->held_by(process);
}

}  // namespace tidegate::sim
