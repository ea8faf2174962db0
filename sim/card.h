// One simulated card: its numbers, its identity, and the book of who holds its memory.
#pragma once

#include <cassert>
#include <map>
#include <memory>

#include "sim/personality.h"
#include "sim/profile.h"
#include "src/driver/cuda_abi.h"

namespace tidegate::sim {

struct CardState {
  int index = 0;
  Profile profile;
  cu::Uuid uuid{};  // the world's own: derived from its seed
  std::unique_ptr<Personality> personality;
  Bytes used = 0;  // committed by all processes, contexts included
  Bytes peak = 0;
  std::map<const Process*, Bytes> held;  // per process; those that hold nothing are not listed

  void charge(const Process& process, Bytes bytes) {
    used += bytes;
    if (used > peak) peak = used;
    if (bytes > 0) held[&process] += bytes;
  }

  void discharge(const Process& process, Bytes bytes) {
    if (bytes == 0) return;
    const auto found = held.find(&process);
    assert(found != held.end() && found->second >= bytes && used >= bytes);
    used -= bytes;
    found->second -= bytes;
    if (found->second == 0) held.erase(found);
  }

  Bytes held_by(const Process& process) const {
    const auto found = held.find(&process);
    return found == held.end() ? 0 : found->second;
  }
};

}  // namespace tidegate::sim
