// How an operating system and its driver treat GPU memory: the rules in which Linux and Windows differ.
//
// The simulated machine asks its card's personality; nothing else in the room knows which one it is. All calls are made
// under the world's lock, with the timeline brought to `now`.
#pragma once

#include <memory>
#include <string>

#include "sim/vidmm/parameters.h"
#include "src/driver/cuda_abi.h"

namespace tidegate::sim {

struct CardState;
struct Mapping;
struct Op;
struct World;
class Process;
class WddmPersonality;

struct MemInfo {
  Bytes free = 0;
  Bytes total = 0;
};

enum class HoldingKind : std::uint8_t { kContext, kForeign, kVmm, kPlain, kPool };

// Memory of a card that a process holds.
struct Holding {
  HoldingKind kind = HoldingKind::kPlain;
  Bytes bytes = 0;
  std::uint64_t id = 0;  // the personality's own
};

class Personality {
 public:
  virtual ~Personality() = default;
  virtual const char* name() const = 0;
  virtual WddmPersonality* as_wddm() { return nullptr; }

  // `process` wants `holding.bytes` of the card: charges them, or answers kOutOfMemory and changes nothing.
  virtual cu::Status create(Process& process, Holding& holding, base::Nanos now) = 0;
  // And gives them back.
  virtual void destroy(Process& process, const Holding& holding, base::Nanos now) = 0;
  // Another size for memory of kForeign; false: there is not so much.
  virtual bool resize(Process& process, Holding& holding, Bytes bytes, base::Nanos now) = 0;
  // Everything of a process that ended is given back.
  virtual void process_ended(Process& process, base::Nanos now) = 0;

  // cuMemSetAccess for the card on one mapping; anything but kSuccess leaves the mapping as it was.
  virtual cu::Status set_access(Process&, const Mapping&, base::Nanos) { return cu::kSuccess; }
  // Memory that the driver placed itself: chunks behind cuMemAlloc and pools.
  virtual void placed(Process&, const Holding&, cu::DevicePtr, Bytes) {}
  virtual void unmapped(Process&, const Mapping&, base::Nanos) {}
  // A reservation is freed; `mapped`: refused, because something is mapped there.
  virtual void address_freed(Process&, bool) {}
  // Whether addresses that were freed are the first to be handed out again.
  virtual bool reuses_addresses() const { return false; }
  // `op`, whose turn has come, may start at the time answered.
  virtual base::Nanos schedule(Op&, base::Nanos now) { return now; }
  // What cuMemSetAccess, which waits for the paging queue, takes beyond its own cost (A.4).
  virtual base::Nanos mapping_delay(Process&, base::Nanos) { return 0; }
  // May page-lock `bytes` in one call more.
  virtual bool admits_pinned(Process&, Bytes) { return true; }
  // W-39: whether mappings keep memory whose handles are gone.
  virtual bool mappings_keep_memory() const { return true; }
  // W-40: whether unmapping waits for the work that uses the memory.
  virtual bool unmap_waits() const { return false; }
  // W-43: whether a synchronise call gives back what pools hold above their threshold.
  virtual bool trims_pools() const { return true; }

  // cuMemGetInfo as this process sees it.
  virtual MemInfo mem_info(Process& process, base::Nanos now) = 0;
  // What NVML calls free.
  virtual Bytes nvml_free(base::Nanos now) = 0;
  // Whether NVML tells a process's bytes.
  virtual bool nvml_per_process() const = 0;

  // What the work that uses memory gets when that memory is unmapped under it; kSuccess: silent corruption.
  virtual cu::Status unmap_in_use() = 0;
};

// The personality that the card's profile names. `world` and `card` must outlive it.
std::unique_ptr<Personality> make_personality(World& world, CardState& card);

}  // namespace tidegate::sim
