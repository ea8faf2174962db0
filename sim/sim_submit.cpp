#include "sim/sim_call.h"

namespace tidegate::sim {

std::shared_ptr<Op> new_op(Call& call, OpKind kind, const std::shared_ptr<Stream>& stream) {
  auto op = std::make_shared<Op>();
  op->kind = kind;
  op->stream = stream;
  op->call_index = call.process.counters.total_calls;
  return op;
}

cu::Status queue_room(Call& call, const std::shared_ptr<Stream>& stream) {
  Context& context = *stream->context;
  const std::size_t depth = call.world.cards[static_cast<std::size_t>(context.card)]->profile.launch_queue_depth;
  if (context.pending < depth) return cu::kSuccess;
  const std::uint64_t handle = context.handle;
  Process& process = call.process;
  const bool alive = call.world.wait_until(process, [&] {
    const auto* found = find_in(process.contexts, handle);
    return found == nullptr || (*found)->sticky != cu::kSuccess || stream->destroyed || (*found)->pending < depth;
  });
  if (!alive) return cu::kDeinitialized;
  const auto* found = find_in(process.contexts, handle);
  if (found == nullptr) return cu::kContextIsDestroyed;
  if (stream->destroyed) return cu::kInvalidHandle;
  return (*found)->sticky;
}

void submit(Call& call, const std::shared_ptr<Op>& op, const std::shared_ptr<Op>& waited) {
  std::vector<Op*> after;
  enter_order(call.world, call.process, *op, waited.get(), after);
  if (op->kind == OpKind::kKernel) {
    note_access(call.world, call.process, *op, op->source, AccessKind::kRead);
    note_access(call.world, call.process, *op, op->destination, AccessKind::kAtomic);
  } else if (op->kind == OpKind::kReset) {
    // Whoever gets the memory is ordered after whoever had it; the pool sees to that.
    for (const Span& span : op->destination) span.mapping->pending.push_back(op.get());
  } else {
    note_access(call.world, call.process, *op, op->source, AccessKind::kRead);
    note_access(call.world, call.process, *op, op->destination, AccessKind::kWrite);
  }
  if (waited) after.push_back(waited.get());
  call.world.timeline.submit(op, op->stream->context->card, after, call.world.timeline.now());
}

void resolve(Call& call, Op& op, cu::DevicePtr begin, Bytes bytes, cu::MemAccessFlags need, std::vector<Span>& spans) {
  if (bytes == 0) return;
  cu::DevicePtr at = 0;
  const auto found = call.process.space.resolve(begin, bytes, op.stream->context->card, need, spans, at);
  if (found == AddressSpace::Found::kOk) return;
  op.fault = cu::kIllegalAddress;
  const bool unmapped = found == AddressSpace::Found::kUnmapped;
  op.fault_text = std::string(name_of(op.kind)) + " of call " + std::to_string(op.call_index) + " on stream " +
                  std::to_string(op.stream->handle) + " touches address " + std::to_string(at) +
                  (unmapped ? ", where nothing is mapped" : ", which it may not access in that way");
}

}  // namespace tidegate::sim
