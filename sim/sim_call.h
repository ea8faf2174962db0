// What every call of the simulated driver has in common. Private to sim_driver*.cpp.
#pragma once

#include <string>

#include "sim/order.h"
#include "sim/sim_driver.h"

namespace tidegate::sim {

namespace sd = driver;
using Id = driver::FunctionId;

// What a call works on, while the lock is held.
struct Call {
  World& world;
  Process& process;
  Id id;
  Process::Thread& thread;
  std::uint64_t thread_id;
  Context* context = nullptr;  // current, alive and not failed; null only for calls that need none

  CardState& card() const { return *world.cards[static_cast<std::size_t>(context->card)]; }
};

struct CallRules {
  bool needs_init = true;
  bool needs_context = false;      // a current one
  bool tolerates_sticky = false;   // works although the current context has failed
  bool unsafe_in_capture = false;  // refused, and fatal to the capture, unless the thread's mode allows it
};

CallRules rules_of(Id id);

// Gate, in the order in which the driver complains; kSuccess: go on.
cu::Status enter_call(Call& call);
void leave_call(Call& call, cu::Status status);

// Host cost of one call; `times` mappings make it up.
base::Nanos cost_of(const World& world, Id id, Bytes bytes, std::uint64_t times = 1);

// What one call takes whose mean is `mean` (A.4). Takes the lock where the seed has a say.
base::Nanos time_of(World& world, Process& process, Id id, base::Nanos mean);

template <typename Body>
cu::Status run_call(World& world, Process& process, Id id, base::Nanos cost, Body&& body) {
  world.executor.spend(time_of(world, process, id, cost));
  const std::uint64_t caller = world.executor.caller_id();
  const base::Lock lock(world.mutex);
  world.advance();
  process.last_call = id;
  Call call{world, process, id, process.threads[caller], caller};
  cu::Status status = enter_call(call);
  if (status == cu::kSuccess) status = body(call);
  leave_call(call, status);
  return status;
}

// Handles are numbers in the clothes of pointers.
template <typename Pointer>
Pointer to_handle(std::uint64_t number) {
  return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(number));  // NOLINT
}
template <typename Pointer>
std::uint64_t to_number(Pointer handle) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
}

template <typename Table>
auto find_in(Table& table, std::uint64_t handle) -> decltype(&table.begin()->second) {
  const auto found = table.find(handle);
  return found == table.end() ? nullptr : &found->second;
}

// A new stream of the context, in the process's and the context's lists.
std::shared_ptr<Stream> add_stream(Process& process, Context& context, bool blocking);
// The stream of a handle (null and CU_STREAM_LEGACY: the current context's default stream; CU_STREAM_PER_THREAD: the
// calling thread's), of a context that works.
cu::Status find_stream(Call& call, cu::Stream handle, std::shared_ptr<Stream>& stream);
std::shared_ptr<EventObject> find_event(Call& call, cu::Event handle);

// --- Capture (sim_driver_capture.cpp) ---
// The capture that the stream takes part in, or null.
std::shared_ptr<Capture> capture_of(Call& call, const Stream& stream);
// For an operation about to be submitted to `stream`: true if it went into a capture instead (`status` is then the
// answer), or must not be submitted at all.
bool captured(Call& call, const std::shared_ptr<Stream>& stream, cu::Status& status);
// The same for recording an event and for waiting for one, which may bring a stream into a capture.
bool record_in_capture(Call& call, const std::shared_ptr<Stream>& stream, EventObject& event, cu::Status& status);
bool wait_in_capture(Call& call, const std::shared_ptr<Stream>& stream, const EventObject& event, cu::Status& status);
void invalidate(Capture& capture);
// For calls that are unsafe during capture: what the capture modes say (the driver's documentation of
// cuThreadExchangeStreamCaptureMode; which calls are unsafe was measured with driver 580). Invalidates what it must.
cu::Status check_capture(Call& call);

// --- Submission (sim_submit.cpp) ---
// A new operation of this call on `stream`.
std::shared_ptr<Op> new_op(Call& call, OpKind kind, const std::shared_ptr<Stream>& stream);
// Waits for room in the launch queue of the stream's context. On success the stream is still good.
cu::Status queue_room(Call& call, const std::shared_ptr<Stream>& stream);
// Orders, checks and submits. `waited`: the record a kWait waits for.
void submit(Call& call, const std::shared_ptr<Op>& op, const std::shared_ptr<Op>& waited = nullptr);
// Fills `spans`; where addresses do not answer, gives `op` a fault.
void resolve(Call& call, Op& op, cu::DevicePtr begin, Bytes bytes, cu::MemAccessFlags need, std::vector<Span>& spans);

// --- Pools (sim_driver_pool.cpp) ---
// A synchronise call gives back what pools hold above their threshold (W-43).
void trim_pools(Call& call, int card);
// cuMemFree of memory that came from a pool.
cu::Status free_to_pool(Call& call, const std::shared_ptr<Mapping>& mapping);

// --- Shared memory helpers (sim_driver_alloc.cpp) ---
// A chunk for a sub-allocator: physical memory with addresses. 0: `status` says why.
cu::DevicePtr add_chunk(Call& call, int card, SubAllocator& allocator, HoldingKind kind, Bytes bytes,
                        cu::Status& status);
void give_chunk_back(World& world, Process& process, cu::DevicePtr begin, Bytes bytes);
// A mapping of a taken part of a chunk, accessible to its card.
std::shared_ptr<Mapping> map_part(Process& process, cu::DevicePtr chunk, cu::DevicePtr begin, Bytes bytes,
                                  MappingKind kind);

// --- Contexts (sim_driver_context.cpp) ---
void destroy_context(World& world, Process& process, Context& context);

}  // namespace tidegate::sim
