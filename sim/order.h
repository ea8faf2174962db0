// The order between operations: who happens before whom, and which accesses have no order at all.
//
// Vector clocks: each stream carries one, each operation starts from its stream's clock joined with what the host has
// observed; a record keeps a copy, a wait joins it; a successful query or synchronise merges it into the host's.
#pragma once

#include "sim/world.h"

namespace tidegate::sim {

// Gives `op` its stamp and its place in the order, and the streams' last operations that it depends on for the default
// stream's sake. `waited`: the record that a kWait waits for, or null.
void enter_order(World& world, Process& process, Op& op, const Op* waited, std::vector<Op*>& after);

// Notes that `op` (which has its stamp) touches the spans, and reports a RACE where an earlier access is not ordered
// before it.
void note_access(World& world, Process& process, Op& op, const std::vector<Span>& spans, AccessKind kind);

// The host has learned that everything on the stream, or in the context, is done.
void observe_stream(Process& process, const Stream& stream);
void observe_context(Process& process, Context& context);

// Removes destroyed streams whose work is done from the context's list.
void prune_streams(Process& process, Context& context);

}  // namespace tidegate::sim
