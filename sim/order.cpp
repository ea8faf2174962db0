#include "sim/order.h"

#include <algorithm>

namespace tidegate::sim {

namespace {

bool conflict(AccessKind a, AccessKind b) { return a == AccessKind::kWrite || b == AccessKind::kWrite || a != b; }

const char* verb_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "reads";
    case AccessKind::kWrite:
      return "writes";
    case AccessKind::kAtomic:
      return "adds to";
  }
  return "?";
}

}  // namespace

void enter_order(World& world, Process& process, Op& op, const Op* waited, std::vector<Op*>& after) {
  Stream& stream = *op.stream;
  Context& context = *stream.context;
  const bool detect = world.options.detect;
  if (stream.handle == 0) {
    prune_streams(process, context);
    for (const auto& other : context.streams) {
      if (!other->blocking) continue;
      after.push_back(other->last());
      if (detect) stream.clock.join(other->clock);
    }
    if (detect) stream.clock.join(context.retired);
  } else if (stream.blocking && context.default_stream->epoch > 0) {
    after.push_back(context.default_stream->last());
    if (detect) stream.clock.join(context.default_stream->clock);
  }
  op.stamp = {stream.slot, ++stream.epoch};
  process.slots[stream.slot] = stream.epoch;
  if (!detect) return;
  if (stream.host_version != process.host_version) {
    stream.clock.join(process.host);
    stream.host_version = process.host_version;
  }
  if (waited != nullptr) stream.clock.join(waited->clock);
  stream.clock.raise(op.stamp);
  if (op.kind == OpKind::kRecord) op.clock = stream.clock;
}

void note_access(World& world, Process& process, Op& op, const std::vector<Span>& spans, AccessKind kind) {
  for (const Span& span : spans) span.mapping->pending.push_back(&op);
  if (!world.options.detect) return;
  const VectorClock& clock = op.stream->clock;
  bool reported = false;
  for (const Span& span : spans) {
    add_latest(span.mapping->uses, op.stamp);
    span.block().shadow.update(span.offset, span.offset + span.length, [&](Bytes begin, Bytes end, Shadow& shadow) {
      auto& accesses = shadow.accesses;
      for (const Shadow::Access& earlier : accesses) {
        if (reported || !conflict(earlier.kind, kind) || clock.covers(earlier.stamp)) continue;
        reported = true;
        world.report(process, "RACE", false,
                     std::string(name_of(op.kind)) + " on stream " + std::to_string(op.stream->handle) + " " +
                         verb_of(kind) + " bytes " + std::to_string(begin) + " ... " + std::to_string(end) +
                         " of block " + std::to_string(span.block().id) + ", which operation " +
                         std::to_string(earlier.stamp.epoch) + " of stream slot " + std::to_string(earlier.stamp.slot) +
                         " " + verb_of(earlier.kind) + " without an order between the two");
      }
      if (kind == AccessKind::kWrite) {
        accesses.clear();
      } else {
        std::erase_if(accesses, [&](const Shadow::Access& earlier) {
          return earlier.kind == kind && clock.covers(earlier.stamp);
        });
      }
      accesses.push_back({op.stamp, kind});
    });
  }
}

void observe_stream(Process& process, const Stream& stream) { process.observe(stream.clock); }

void observe_context(Process& process, Context& context) {
  process.observe(context.retired);
  process.observe(context.default_stream->clock);
  for (const auto& stream : context.streams) process.observe(stream->clock);
  prune_streams(process, context);
}

void prune_streams(Process& process, Context& context) {
  std::erase_if(context.streams, [&](const std::shared_ptr<Stream>& stream) {
    if (!stream->destroyed || !stream->pending.empty()) return false;
    context.retired.join(stream->clock);
    process.free_slots.push_back(stream->slot);
    return true;
  });
}

}  // namespace tidegate::sim
