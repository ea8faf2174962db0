// Weights whose bytes a WeightSource has: asked for ahead of their copies, and given back after them.

#include "src/pager/core.h"

namespace tidegate {

// kIssued: the block's bytes can be copied now.
PagerCore::Fetch PagerCore::supply(BlockId id, Urgency urgency) {
  const Block& block = block_at(id);
  const Model& model = *models_[block.model];
  if (model.sources[block.index] != nullptr) return Fetch::kIssued;
  const auto supply = model.source->want(model.weight_of[block.index], urgency == Urgency::kDemand);
  if (!supply) {
    unreadable_ = supply.error();
    return Fetch::kUnreadable;
  }
  if (supply.value() == WeightSource::Supply::kReady) return Fetch::kIssued;
  // Whoever is told kFull hears when that changes; a caller who waits looks again anyway.
  return Fetch::kComing;
}

// Has the source read what the pass comes to next, as far as it has room.
void PagerCore::read_ahead(Model& model) {
  const std::uint64_t last = model.cursor + model.uses.size();
  if (model.asked < model.fetch || model.asked > last + 1) model.asked = model.fetch;
  for (; model.asked <= last; ++model.asked) {
    const std::uint32_t index = model.uses[model.index_of(model.asked)].block;
    if (model.sources[index] != nullptr) continue;
    const std::uint64_t word = block_at(model.id_of(index)).state.load();
    const bool goes = model.plan.blocks[index].role == pager::Role::kStreamed && (word & pager::kUsed) != 0;
    if ((word & pager::kResident) != 0 && !goes) continue;
    const auto supply = model.source->want(model.weight_of[index], false);
    // An error is told to the lease that needs the block.
    if (!supply || supply.value() == WeightSource::Supply::kFull) return;
  }
}

// The host bytes for a copy that `sequence` will cover, or any earlier one.
const std::byte* PagerCore::bytes_of(Model& model, std::uint32_t index, std::uint64_t sequence) {
  if (model.sources[index] != nullptr) return model.sources[index];
  borrowed_.push_back({model.source, model.weight_of[index], sequence});
  return model.source->take(model.weight_of[index]);
}

// Those of copies that have arrived; or all, when the caller knows that every copy is over.
void PagerCore::give_back_bytes(bool all) {
  while (!borrowed_.empty() && (all || borrowed_.front().sequence <= arrivals_.done())) {
    borrowed_.front().source->done(borrowed_.front().weight);
    borrowed_.pop_front();
  }
}

}  // namespace tidegate
