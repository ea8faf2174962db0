// The video memory manager's state, as plain data: what is committed, what is resident, who was told what.
//
// Five ledgers are kept apart because the real interfaces report different ones: committed (allocated), resident (in
// VRAM now: NVML), usage (charged against the budget: committed less demoted), demoted (should be in VRAM, is not),
// evicted (moved out, ever). All functions of the room (vidmm.h) work on this; nothing here knows CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/rules.h"
#include "sim/vector_clock.h"
#include "sim/vidmm/parameters.h"
#include "src/base/checksum.h"

namespace tidegate::sim::vidmm {

using base::Nanos;
using AllocId = std::uint64_t;  // 0: none; never used twice
using Fence = std::uint64_t;    // of a paging queue; 0: done at once

enum class Kind : std::uint8_t {
  kContext,  // what a context needs; stays resident
  kForeign,  // another program's; stays resident
  kVmm,      // cuMemCreate: on the residency list from its first mapping on
  kPlain,    // cuMemAlloc: on the list at once; the driver waits for its paging itself
  kPool,     // behind cuMemAllocAsync: as kPlain, but given back inside synchronise calls (W-43)
};

// A driver call, for those who read a finding.
struct CallRef {
  const char* name = "";
  std::uint64_t index = 0;
};

enum class Place : std::uint8_t { kNone, kResident, kMissing, kNonLocal };  // which list of its client it is in

struct Alloc {
  AllocId id = 0;
  int owner = 0;  // process
  Kind kind = Kind::kVmm;
  Bytes bytes = 0;
  Bytes resident = 0;       // of them, in VRAM
  bool touched = false;     // has contents: to page it in costs a transfer
  unsigned references = 0;  // MakeResident less Evict (W-14); on the residency list while above 0
  bool refused = false;     // MakeResident failed for it once (W-41)
  Place place = Place::kNone;
  std::list<AllocId>::iterator at;   // in that list
  Fence fence = 0;                   // the last operation of the paging queue that refers to it
  Nanos pending_until = 0;           // when that one is done
  CallRef queued_by;                 // the call that queued it
  std::vector<std::uint64_t> slots;  // slots of addresses whose large entry names it, or did
};

// One slot of a process's addresses, 2 MiB (W-28, W-30).
struct Slot {
  AllocId owner = 0;
  bool large = false;
  bool stale = false;  // the owner was destroyed; the entry is cleared at clear_at
  Nanos clear_at = 0;
  Fence clear_fence = 0;  // a later operation of the queue that is done proves it cleared
  CallRef mapped_by;
  Nanos map_done = 0;  // when the mapping operation that wrote it is done
  CallRef destroyed_by;
};

// A submission of the device that waited for all operations up to `fence`: once the host has seen it complete, they
// are known to be.
struct Mark {
  Fence fence = 0;
  Stamp stamp;
};

struct Knobs {                           // W-36, of one process on one card
  bool force_synchronous_evict = false;  // what it gives back is reclaimed inside the call
  Bytes restrict_budget_local = 0;       // 0: no restriction
  bool place_in_demoted_location = false;
};

// One process on one card: its device, with one paging queue, and its budget.
struct Client {
  int process = 0;
  unsigned contexts = 0;
  bool arriving = false;  // came to a card that is scarce, and has committed nothing but a context
  bool partitioned = false;
  bool visible = true;
  int priority = 2;  // of the five classes (W-31)
  bool in_error = false;
  Knobs knobs;

  Bytes budget = 0;
  Bytes reservation = 0;
  Bytes others_then = 0;  // what others had in VRAM at the partition
  Bytes drift = 0;
  bool drifted = false;
  Bytes committed = 0;
  Bytes charged = 0;  // committed, and given back but not yet reclaimed (W-27)
  Bytes resident = 0;
  Bytes demoted = 0;
  Bytes evicted_total = 0;
  Bytes fixed = 0;      // resident bytes that are never moved out: contexts, other programs
  Bytes untouched = 0;  // resident bytes of memory that nothing has touched
  Bytes non_local = 0;
  Bytes owed = 0;  // what the missing ones lack

  std::uint64_t last_submit = 0;     // place in the order of all clients' submissions
  std::list<AllocId> resident_list;  // oldest first
  std::list<AllocId> missing;        // on the residency list, not (wholly) resident
  std::list<AllocId> overflow;       // on it, placed in system memory for want of room

  Fence last_fence = 0;
  Nanos fence_done_at = 0;     // of the last one; the queue is FIFO
  Nanos page_ins_done_at = 0;  // of the last page-in of contents
  Nanos held_until = 0;        // W-36: delayed execution
  Nanos suspended_until = 0;
  Nanos clears_done_at = 0;
  Fence proved = 0;
  std::deque<Mark> marks;
  std::vector<Fence> marked;  // per stream slot, the fence of its latest mark
  std::unordered_map<std::uint64_t, Slot> slots;

  bool not_ready_armed = false;  // W-41
  Nanos not_ready_until = 0;
  Nanos pending_time = 0;  // H-6: the time in which some operation was pending
  std::uint64_t va_churn = 0;
};

struct Reclaim {  // memory on its way back
  int process = 0;
  Bytes resident = 0;
  Bytes charged = 0;
};

struct Counters {
  std::uint64_t evictions = 0;
  Bytes evicted = 0;
  Bytes paged_in = 0;
  std::uint64_t repartitions = 0;
  std::uint64_t destroys = 0;
  std::uint64_t expansions = 0;  // of large entries
  std::array<Bytes, 5> evicted_by_priority{};
};

// A hazard that came about; see sim/hazards.h for the rules.
struct Finding {
  const char* rule = "";
  bool exposure = false;
  std::string what;
  const char* bugcheck = "";
  CallRef earlier;
};

struct Adapter {
  Rules rules;
  Parameters parameters;
  Bytes vram = 0;
  Bytes capacity = 0;  // of the LOCAL group: VRAM less what the driver keeps
  double vram_gb_per_s = 1;
  Bytes slot = 2 * kMiB;     // what a large entry covers; less on cards of small granularity, which are for tests
  bool no_demotion = false;  // W-36
  base::Random random{0};

  Nanos now = 0;
  Bytes committed = 0;
  Bytes resident = 0;  // what is on its way back included
  std::uint64_t submissions = 0;
  AllocId next_id = 1;
  std::uint64_t next_event = 1;
  std::map<int, Client> clients;
  std::unordered_map<AllocId, Alloc> allocs;
  std::map<std::pair<Nanos, std::uint64_t>, Reclaim> reclaims;  // the event heap, by (ready_at, seq)
  Counters counters;
  std::vector<Finding> findings;  // taken by whoever called

  bool on(RuleId rule) const { return rules.on(rule); }
  Bytes free() const { return capacity - (resident < capacity ? resident : capacity); }
};

}  // namespace tidegate::sim::vidmm
