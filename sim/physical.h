// Physical memory of a simulated card, and the ranges of addresses that lead to it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "sim/content.h"
#include "sim/personality.h"
#include "sim/vector_clock.h"
#include "src/driver/cuda_abi.h"

namespace tidegate::sim {

struct Op;
class Process;

inline constexpr int kMaxCards = 8;

enum class AccessKind : std::uint8_t { kRead, kWrite, kAtomic };

// The accesses to one run of bytes that later ones must be ordered after: the last write, and what has come since.
struct Shadow {
  struct Access {
    Stamp stamp;
    AccessKind kind;
    bool operator==(const Access&) const = default;
  };
  std::vector<Access> accesses;
  bool operator==(const Shadow&) const = default;
};

// One physical allocation. Freed when its last mapping and its last handle are gone; operations that still refer to it
// then keep the object, no longer the card's memory.
struct PhysicalBlock {
  PhysicalBlock(std::uint64_t number, const Holding& held, int card_index, Process& process)
      : id(number),
        size(held.bytes),
        card(card_index),
        owner(process),
        holding(held),
        content(size),
        shadow(size, Shadow{}) {}

  std::uint64_t id;
  Bytes size;
  int card;
  Process& owner;
  Holding holding;
  int handles = 0;
  int mappings = 0;
  bool committed = true;
  Content content;
  IntervalMap<Shadow> shadow;
};

enum class MappingKind : std::uint8_t {
  kVmm,    // cuMemMap
  kAlloc,  // cuMemAlloc
  kPool,   // cuMemAllocAsync
};

// A range of device addresses backed by one physical block. Small allocations that share a block have a mapping each.
struct Mapping {
  cu::DevicePtr va = 0;
  Bytes size = 0;
  std::shared_ptr<PhysicalBlock> block;
  Bytes block_offset = 0;
  MappingKind kind = MappingKind::kVmm;
  Bytes requested = 0;                           // kPool: before rounding
  std::uint64_t owner = 0;                       // kAlloc: the context that frees it when destroyed; kPool: the pool
  std::array<std::uint8_t, kMaxCards> access{};  // cu::MemAccessFlags per card
  std::vector<Op*> pending;                      // queued or running work that refers to it
  std::vector<Stamp> uses;                       // per stream the latest operation that referred to it

  cu::DevicePtr end() const { return va + size; }
};

// A part of a block that an operation touches, through one mapping.
struct Span {
  std::shared_ptr<Mapping> mapping;
  Bytes offset = 0;  // in the block
  Bytes length = 0;

  PhysicalBlock& block() const { return *mapping->block; }
};

}  // namespace tidegate::sim
