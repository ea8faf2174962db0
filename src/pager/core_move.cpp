// Moves inside the card: what stays goes home, and out of the way, without crossing the link again.
#include "src/pager/core.h"

namespace tidegate {

using pager::kNowhere;
using pager::Role;

namespace {
constexpr int kMostMovesPerStep = 32;  // so that demands are looked at in between
}  // namespace

// Closes the holes that a new plan or an emergency left: blocks that stay move to their homes inside the card.
void PagerCore::settle_misplaced(Model& model, bool& retry) {
  int moves = 0;
  std::size_t left = 0;
  for (std::uint32_t i = 0; i < model.blocks.size(); ++i) {
    const Bytes home = model.plan.blocks[i].home;
    const BlockId id = model.id_of(i);
    Block& block = block_at(id);
    const Bytes from = block.address - frames_.base();
    if (model.plan.blocks[i].role == Role::kStreamed || !block.resident() || from == model.origin + home) continue;
    const Bytes to = model.origin + home;
    ++left;
    if (block.leased() || !frames_.usable(to, block.bytes)) continue;
    if (!claimable(to, block.bytes, model, Urgency::kPrefetch, id)) continue;
    if (moves == kMostMovesPerStep || !arrivals_.has_room()) {
      retry = true;
      return;
    }
    const bool overlaps = from < to + block.bytes && to < from + block.bytes;
    if (overlaps) {  // a copy onto itself is undefined: it leaves once used, and the prefetch brings it home
      if ((block.state.load() & pager::kUsed) != 0) evict(id);
      continue;
    }
    if (!evict_range(to, block.bytes)) continue;
    if (!move_block(id, to)) {
      retry = true;
      continue;
    }
    ++moves;
    --left;
  }
  model.misplaced = left;
}

// Moves an unleased block inside the card to a range that is free. On failure it is not resident any more.
bool PagerCore::move_block(BlockId id, Bytes to) {
  Block& block = block_at(id);
  Model& model = *models_[block.model];
  const std::uint64_t flags = block.state.load() & pager::kUsed;
  if (!arrivals_.has_room() || !block.try_drop()) return false;
  UseSet uses = take_uses(block);
  const Bytes from = block.address - frames_.base();
  const std::vector<Piece> pieces = space_->place(to, block.bytes, id);
  cu::Status status = wait_for_pieces(pieces);
  if (status == cu::kSuccess) {
    // Not the padding behind the source's end: nobody ever wrote that.
    status = driver_.memcpy_dtod_async(frames_.base() + to, block.address, model.source_bytes[block.index],
                                       arrivals_.stream());
  }
  std::uint64_t sequence = arrivals_.issued() + 1;  // if nothing is recorded now, the next record covers it
  if (status == cu::kSuccess) status = arrivals_.record(&sequence);
  space_->vacate(from, std::move(uses), sequence);
  if (model.plan.blocks[block.index].role != Role::kStreamed) ++model.absent;
  ++changes_;
  if (status != cu::kSuccess) {
    UseSet pending;
    for (const Piece& piece : pieces) pending.add(piece.uses);
    space_->vacate(to, std::move(pending), sequence);
    return false;
  }
  became_resident(block, id, to, sequence);
  if (to != model.origin + model.plan.blocks[block.index].home) block.state.fetch_or(flags);
  ++counters_.moves;
  return true;
}

// A block that the plan keeps is in somebody's way: it goes home, or elsewhere for the time being, rather than being
// dropped and copied again. False: there is no such place outside [avoid, avoid + avoid_bytes).
bool PagerCore::relocate(BlockId id, Bytes avoid, Bytes avoid_bytes) {
  const Block& block = block_at(id);
  const Model& model = *models_[block.model];
  const pager::PlannedBlock& planned = model.plan.blocks[block.index];
  if (&model != active_ || planned.role == Role::kStreamed) return false;
  const auto clear = [&](Bytes to) {
    if (to < model.origin || to + block.bytes > model.origin + class_room(model)) return false;
    if (to < avoid + avoid_bytes && avoid < to + block.bytes) return false;
    if (!frames_.usable(to, block.bytes)) return false;
    return space_->all_of(to, block.bytes, [&](Bytes, const pager::Segment& segment) {
      if (segment.block == pager::kNoBlock) return true;
      const Block& tenant = block_at(segment.block);
      const std::uint64_t word = tenant.state.load(std::memory_order_acquire);
      return (word & pager::kLeaseMask) == 0 && (word & pager::kUsed) != 0 && tenant.model == model.id &&
             model.plan.blocks[tenant.index].role == Role::kStreamed;
    });
  };
  Bytes to = model.origin + planned.home;
  if (block.address == frames_.base() + to || !clear(to)) {
    to = kNowhere;
    for (const auto& [offset, segment] : space_->segments()) {
      if (!clear(offset)) continue;
      to = offset;
      break;
    }
  }
  if (to == kNowhere || block.leased()) return false;
  std::vector<BlockId> tenants;
  space_->all_of(to, block.bytes, [&](Bytes, const pager::Segment& segment) {
    if (segment.block != pager::kNoBlock) tenants.push_back(segment.block);
    return true;
  });
  for (const BlockId tenant : tenants) {
    if (!evict(tenant)) return false;
  }
  return move_block(id, to);
}

}  // namespace tidegate
