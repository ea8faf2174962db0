#include "sim/world.h"

#include <algorithm>

#include "src/driver/function_id.h"

namespace tidegate::sim {

base::Nanos World::advance() {
  timeline.advance(executor.now());
  return timeline.now();
}

void World::report(const Process& process, const char* rule, bool exposure, std::string what, const char* bugcheck) {
  Hazard hazard{rule,
                exposure,
                process.id(),
                driver::name_of(process.last_call),
                process.counters.total_calls,
                std::move(what),
                bugcheck,
                timeline.now()};
  if (options.trace) log(to_text(hazard));
  hazards.add(std::move(hazard));
}

void World::message(std::string line) {
  if (options.trace) log(line);
  if (options.on_message) options.on_message(line);
  messages.push_back(std::move(line));
}

void World::log(const std::string& line) {
  trace += std::to_string(timeline.now());
  trace += ' ';
  trace += line;
  trace += '\n';
}

void World::drop_work(Context& context) {
  std::vector<std::shared_ptr<Stream>> streams = context.streams;
  streams.push_back(context.default_stream);
  timeline.drop(streams, timeline.now());
  executor.notify_all(changed);
}

void World::fail_context(Context& context, cu::Status status) {
  if (context.sticky != cu::kSuccess) return;
  const bool stays = cards[static_cast<std::size_t>(context.card)]->profile.rules.on(kRuleC4);
  if (stays) context.sticky = status;
  if (options.trace) log("context " + std::to_string(context.handle) + " fails with " + std::to_string(status));
  drop_work(context);
}

std::shared_ptr<PhysicalBlock> World::create_block(Process& process, int card_index, HoldingKind kind, Bytes bytes,
                                                   cu::Status& status) {
  CardState& card = *cards[static_cast<std::size_t>(card_index)];
  Holding holding{kind, bytes, 0};
  status = card.personality->create(process, holding, timeline.now());
  if (status != cu::kSuccess) return nullptr;
  process.counters.committed += bytes;
  process.counters.peak_committed = std::max(process.counters.peak_committed, process.counters.committed);
  return std::make_shared<PhysicalBlock>(process.next_block++, holding, card_index, process);
}

void World::release_if_unused(const std::shared_ptr<PhysicalBlock>& block) {
  if (!block->committed || block->handles > 0) return;
  CardState& card = *cards[static_cast<std::size_t>(block->card)];
  if (block->mappings > 0 && card.personality->mappings_keep_memory()) return;
  block->committed = false;
  card.personality->destroy(block->owner, block->holding, timeline.now());
  block->owner.counters.committed -= block->size;
}

void World::remove_mapping(Process& process, const std::shared_ptr<Mapping>& mapping, const char* verb) {
  CardState& card = *cards[static_cast<std::size_t>(mapping->block->card)];
  process.space.unmap(*mapping);
  if (!mapping->pending.empty()) {
    const Op& first = *mapping->pending.front();
    if (card.profile.rules.on(kRuleC3)) {
      report(process, "H-4", false,
             std::string(verb) + " under " + std::to_string(mapping->pending.size()) +
                 " queued or running operations, first a " + name_of(first.kind) + " on stream " +
                 std::to_string(first.stream->handle));
    }
    const cu::Status status = card.personality->unmap_in_use();
    std::vector<Context*> failing;
    for (Op* op : mapping->pending) {
      if (op->started) {
        failing.push_back(op->stream->context);
      } else {
        op->fault = status;
      }
    }
    if (status != cu::kSuccess) {
      for (Context* context : failing) fail_context(*context, status);
    }
  } else if (options.detect && card.profile.rules.on(kRuleC3)) {
    const auto unseen = [&](Stamp use) { return !process.host.covers(use); };
    if (std::any_of(mapping->uses.begin(), mapping->uses.end(), unseen)) {
      report(process, "H-4", true,
             std::string(verb) + " of memory whose last use is over, which the host has never observed");
    }
  }
  card.personality->unmapped(process, *mapping, timeline.now());
  --mapping->block->mappings;
  release_if_unused(mapping->block);
}

}  // namespace tidegate::sim
