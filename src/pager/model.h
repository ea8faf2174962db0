// What the pager knows of one model: its blocks, its order, its plan and how far the pass has come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/pager/learner.h"
#include "src/pager/plan.h"
#include "tidegate/pager.h"

namespace tidegate::pager {

// Guarded by the pager's lock, except what is marked constant.
struct Model {
  // Constant after registration.
  ModelId id = 0;
  std::string name;
  int priority = 0;
  BlockId first_block = 0;
  std::vector<PlanBlock> blocks;
  std::vector<const std::byte*> sources;  // by block: host bytes; null: of `source`
  std::shared_ptr<WeightSource> source;
  std::vector<std::uint32_t> weight_of;  // by block: its weight, where `source` has the bytes
  std::vector<Bytes> source_bytes;       // by block: what is copied (blocks are rounded up to the grain)
  std::vector<WeightPlace> places;       // by weight
  std::vector<void*> packs;              // pinned host memory of small weights, owned
  Bytes bytes = 0;

  bool removed = false;
  std::vector<PlanUse> uses;          // the order of a pass: as registered until learned
  std::vector<double> expected_cost;  // by use, as the caller said; all 0 if he did not
  std::vector<PlanUse> learned_uses;  // learned and not yet planned for; empty: none
  bool learned = false;
  bool marks_passes = false;                        // the caller uses begin_pass
  std::vector<std::vector<std::uint32_t>> uses_of;  // by block: indices into uses, ascending
  Plan plan;
  std::uint64_t plan_generation = 0;
  Bytes origin = 0;            // arena offset of the part that the model's priority class may use
  Bytes plan_budget = 0;       // and its size
  Bytes installed_origin = 0;  // of the plan in force
  bool replan_wanted = false;

  // Positions count uses from 1: position p is use (p - 1) % uses.size() of its pass. `cursor` is the latest use known
  // to be over or under way (0: none); `fetch` the next one that the copy task looks at.
  // cursor < fetch <= cursor + uses.size() + 1.
  std::uint64_t cursor = 0;
  std::uint64_t fetch = 1;
  std::uint64_t asked = 1;  // the next one whose bytes `source` is asked for, at `fetch` or ahead of it
  // Until the cursor is here a new plan is being moved into: blocks may pass through places that are not planned.
  std::uint64_t settled_at = 0;
  std::uint64_t searched_at = 0;  // PagerCore::changes_ when a search for such a place last failed
  std::size_t surprises = 0;      // in this pass: leases that came out of order
  std::size_t absent = 0;         // blocks that the plan keeps and that are not resident
  std::size_t misplaced = 0;      // blocks that the plan keeps and that may lie elsewhere than at home
  Bytes copied = 0;

  std::unique_ptr<Learner> learner;  // while a pass is being learned

  BlockId id_of(std::uint32_t index) const { return first_block + index; }
  std::size_t index_of(std::uint64_t position) const { return (position - 1) % uses.size(); }
};

}  // namespace tidegate::pager
