// A stream-ordered pool: memory freed on a stream is its again for that stream at once, for others when the stream has
// got there; chunks go back to the card at a synchronise call, above the release threshold (W-43).
#pragma once

#include <memory>
#include <vector>

#include "sim/op.h"
#include "sim/sub_allocator.h"

namespace tidegate::sim {

class MemPool {
 public:
  static constexpr Bytes kChunk = 32 * kMiB;  // the card is asked for at least so much

  struct Freed {  // in stream order, but not yet by the stream
    cu::DevicePtr begin = 0;
    Bytes bytes = 0;
    std::shared_ptr<Op> op;  // the free; its clock orders whoever gets the memory
  };

  int card = 0;
  bool is_default = false;
  bool destroyed = false;  // goes away with its last allocation
  std::uint64_t handle = 0;
  std::uint64_t release_threshold = 0;
  SubAllocator memory;
  std::vector<Freed> freed;
  VectorClock clock;  // of the frees that `memory` has taken back
  Bytes used = 0;
  Bytes used_high = 0;
  Bytes reserved_high = 0;

  // Takes back what has been reached.
  void settle() {
    std::erase_if(freed, [this](const Freed& entry) {
      if (!entry.op->done) return false;
      memory.put(entry.begin, entry.bytes);
      clock.join(entry.op->clock);
      return true;
    });
  }
};

}  // namespace tidegate::sim
