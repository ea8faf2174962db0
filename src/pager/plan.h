// Planning: which blocks of a model stay, which stream through the ring, and where each lies in the arena.
//
// Pure functions over plain data; no clock, no driver, no allocation outside their results. A pass reads its blocks in
// a cycle, so a fixed resident set is near the optimum; which set matters (docs/planning.md has the measurements). The
// streamed blocks pass through a ring: a fixed part of the arena, reused in order of use, in which every use has an
// address known in advance. A block's copy may start as soon as the earlier tenants of its bytes were released, piece
// by piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/executor.h"
#include "tidegate/bytes.h"
#include "tidegate/pager.h"

namespace tidegate::pager {

using base::Nanos;

inline constexpr Bytes kGrain =
    512;  // placement grain: the alignment that CUDA allocations promise at least (256), doubled
inline constexpr Bytes kNowhere = ~Bytes{0};

struct PlanBlock {
  Bytes bytes = 0;    // a multiple of kGrain
  bool keep = false;  // must stay resident (a pack of small weights)
};

// One use of one block, in order of use. Uses with the same `step` are needed together.
struct PlanUse {
  std::uint32_t block = 0;
  std::uint32_t step = 0;
  Nanos compute = 0;  // card time from this use's start to the next use's, waiting excluded
};

struct PlanInput {
  std::span<const PlanBlock> blocks;
  std::span<const PlanUse> uses;  // one pass; steps do not decrease
  Bytes budget = 0;               // room in the arena, whole frames
  double link_bytes_per_ns = 1;   // host to device
  Nanos copy_cost = 0;            // fixed cost of one copy call on the link
  Policy policy = Policy::kScatter;
  // Relative cost by use, for when no compute time was measured; empty or all 0: by bytes.
  std::span<const double> expected_cost{};
  // The plan in force: it is kept while it is good enough (plan.cpp says how good), and a change keeps the homes that
  // it can.
  const struct Plan* current = nullptr;
};

enum class Role : std::uint8_t {
  kNeeded,    // resident: part of the smallest sufficient set
  kCached,    // resident while there is room; giving it back costs the pass no time
  kStreamed,  // passes through the ring
};

struct PlannedBlock {
  Role role = Role::kStreamed;
  Bytes home = kNowhere;  // arena offset of a resident block
};

// One use that goes through the ring.
struct RingUse {
  std::uint32_t use = 0;  // index into PlanInput::uses
  std::uint32_t block = 0;
  Bytes offset = 0;  // arena offset: the ring starts at 0
};

struct Plan {
  std::vector<PlannedBlock> blocks;        // by block index
  std::vector<RingUse> ring_uses;          // in order of use
  std::vector<std::uint32_t> ring_use_of;  // by use index: index into ring_uses, or kNoRingUse
  Bytes ring = 0;                          // bytes [0, ring) of the arena
  Bytes needed = 0;                        // bytes of kNeeded blocks
  Bytes cached = 0;                        // bytes of kCached blocks
  Bytes largest_streamed = 0;              // of kStreamed blocks; 0 if none streams
  Bytes streamed_per_pass = 0;             // bytes copied in a warm pass
  Bytes reclaimable = 0;                   // of the budget: what could be given back at no cost to the pass time
  Nanos predicted = 0;                     // a warm pass, by simulate_pass; 0 if the compute times were assumed
};

inline constexpr std::uint32_t kNoRingUse = ~std::uint32_t{0};

// Never fails: with a budget under the floor it returns the least bad plan (everything streams through all there is).
// Cost (measured, bench/plan_bench): 52 ms at 1,000 and at 100,000 blocks for a first plan; a plan in force of 100,000
// blocks makes it 0.17 s.
Plan make_plan(const PlanInput& input);

// The duration of a warm pass in which the uses of the blocks with streams[block] != 0 go through a ring of `ring`
// bytes; kNever if one does not fit. The model: one link, copies in order, each piece of a copy after the release of
// its bytes' earlier tenant; one compute engine, uses in order.
Nanos simulate_pass(const PlanInput& input, std::span<const std::uint8_t> streams, Bytes ring);

// max(compute, (weights - budget) / link): the bound of DESIGN.md; `grain` is added to the missing bytes.
Nanos pass_bound(const PlanInput& input, Bytes grain);

}  // namespace tidegate::pager
