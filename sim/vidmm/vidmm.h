// The video memory manager of Windows, as far as a CUDA process can observe it: pure functions over vidmm::Adapter.
//
// Numbers W-n name the rules of the specification. Every asynchronous completion lies in a window out of which the
// adapter's seeded generator draws the point, so that a seed decides the order of whatever overlaps. Not thread-safe.
// `now` never goes back. Costs: no function walks all allocations; a submission looks at what is missing only.
#pragma once

#include "sim/vidmm/state.h"

namespace tidegate::sim::vidmm {

// --- Clients and budgets (budget.cpp) ---
Client& client_of(Adapter& adapter, int process);
// The lifecycle events partition the budgets anew (W-9).
void repartition(Adapter& adapter);
// One of them: the client has made a context. Where that leaves somebody less than an idle machine's budget, its first
// allocation counts as part of its arrival, as in GT-7.
void begin_context(Adapter& adapter, Client& client);
// The budget a process is told now, drift under pressure included (W-10).
Bytes budget_of(Adapter& adapter, Client& client);
// cuMemGetInfo's free: budget less own usage (W-10).
Bytes process_free(Adapter& adapter, Client& client);
void set_visibility(Adapter& adapter, Client& client, bool visible);

// --- Allocations (allocate.cpp) ---
// 0: refused, nothing changed. Memory of kContext and kForeign is resident at once.
AllocId create(Adapter& adapter, Client& client, Kind kind, Bytes bytes, CallRef call, Nanos now);
// `host`: what the process has seen complete; decides between exposure and proof (H-1, H-11).
void destroy(Adapter& adapter, Client& client, AllocId id, const VectorClock& host, CallRef call, Nanos now);
// Another size for a kForeign allocation. False: no room, nothing changed.
bool resize(Adapter& adapter, Client& client, AllocId id, Bytes bytes, Nanos now);
// The last context of a process goes (H-3).
void end_device(Adapter& adapter, Client& client, const VectorClock& host, CallRef call, Nanos now);
// A context is gone: what was on its way back has come back with it, and the budgets are partitioned anew.
void end_context(Adapter& adapter, Client& client);
// The process has ended (H-6); the client is gone, as after end_context().
void end_process(Adapter& adapter, Client& client, const VectorClock& host, Nanos now);

// --- Residency (residency.cpp) ---
enum class Residency : std::uint8_t { kOk, kPending, kOutOfMemory };
struct MakeResidentResult {
  Residency status = Residency::kOk;
  Fence fence = 0;
  Bytes bytes_to_trim = 0;  // kOutOfMemory
};
// One batch, all or nothing (W-14, W-15). `cant_trim_further`: failure puts the device in error.
MakeResidentResult make_resident(Adapter& adapter, Client& client, const std::vector<AllocId>& ids,
                                 bool cant_trim_further, CallRef call, Nanos now);
// A further mapping of an allocation that is on the list: entries are written, nothing else.
Fence remap(Adapter& adapter, Client& client, Alloc& alloc, CallRef call, Nanos now);
// One reference less; at none the allocation leaves the list.
void evict(Adapter& adapter, Client& client, AllocId id);
// Puts an allocation of the list into system memory for want of room (W-42).
void place_non_local(Adapter& adapter, Client& client, Alloc& alloc);
// Before work of the device is scheduled its whole list becomes resident (W-13). Answers when it may start; `stamp`
// is the work's. Empty `touched`: no matter, but with W-13 off only those are brought in.
Nanos schedule(Adapter& adapter, Client& client, Stamp stamp, const std::vector<AllocId>& touched, CallRef call,
               Nanos now);
// Makes room for the client at the expense of others (W-31, W-32). False: there is none. `at`: raised to when
// memory that is on its way back arrives, where that is what helps.
bool make_room(Adapter& adapter, Client& client, Bytes bytes, Nanos& at);
// How much of an allocation is in VRAM, in all ledgers.
void set_resident(Adapter& adapter, Client& client, Alloc& alloc, Bytes bytes);
// It has contents from now on.
void set_touched(Client& client, Alloc& alloc);
// Puts an allocation into one of its client's lists, or into none.
void move_to(Client& client, Alloc& alloc, Place place);
// Demotes one allocation that is resident.
void demote(Adapter& adapter, Client& client, Alloc& alloc);
// Demotes the client's oldest memory until at most `keep` bytes of it are resident.
void demote_down_to(Adapter& adapter, Client& client, Bytes keep);

// --- The paging queue (paging.cpp) ---
// What is due by `now` happens.
void run_until(Adapter& adapter, Nanos now);
// Queues an operation that refers to `alloc` (null: to none): it begins at `not_before` or when those before it are
// done, and takes `cost`.
Fence enqueue(Adapter& adapter, Client& client, Alloc* alloc, Nanos not_before, Nanos cost, CallRef call);
// Whether the host knows that all operations up to `fence` are done.
bool proved(Client& client, Fence fence, const VectorClock& host);
bool pending(const Adapter& adapter, const Client& client);

// --- Addresses (slots.cpp) ---
// cuMemSetAccess on a fresh mapping writes the entries of [va, va + bytes) (W-22, W-28 ... W-30; H-2, H-8).
void write_entries(Adapter& adapter, Client& client, Alloc& alloc, std::uint64_t va, Bytes bytes,
                   const VectorClock& host, CallRef call);
// The allocation is gone: its large entries name nobody until they are cleared.
void forget_owner(Adapter& adapter, Client& client, Alloc& alloc, CallRef call);

// What is wrong with the ledgers, in one line; empty: nothing (check.cpp).
std::string check_invariants(const Adapter& adapter);

// A number in [0, limit].
Nanos draw(Adapter& adapter, Nanos limit);

}  // namespace tidegate::sim::vidmm
