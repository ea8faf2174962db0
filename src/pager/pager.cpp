// The public face: it owns the core and adds nothing.
#include "tidegate/pager.h"

#include "src/pager/core.h"

namespace tidegate {

Pager::Pager(std::unique_ptr<PagerCore> core) : core_(std::move(core)) {}
Pager::~Pager() = default;

Result<std::unique_ptr<Pager>> Pager::create(Card& card, PagerOptions options) {
  if (!options.mode) {
    const Result<Mode> mode = mode_from_environment();
    if (!mode) return mode.error();
    options.mode = mode.value();
  }
  auto core = std::make_unique<PagerCore>(card, options);
  if (Result<void> opened = core->open(); !opened) return opened.error();
  return std::unique_ptr<Pager>(new Pager(std::move(core)));
}

Result<ModelId> Pager::add_model(ModelSpec spec) { return core_->add_model(std::move(spec)); }
Result<void> Pager::remove_model(ModelId model) { return core_->remove_model(model); }
WeightPlace Pager::place(ModelId model, std::size_t weight) const { return core_->place(model, weight); }
Bytes Pager::block_bytes(BlockId block) const { return core_->block_bytes(block); }
Result<Lease> Pager::lease(std::span<const BlockId> blocks, StreamHandle stream) {
  return core_->lease(blocks, stream);
}
void Pager::begin_pass(ModelId model) { core_->begin_pass(model); }
void Pager::end_step(StreamHandle stream) { core_->end_step(stream); }
Result<void> Pager::set_budget(Bytes budget, std::uint32_t deadline_ms) {
  return core_->set_budget(budget, deadline_ms);
}
void Pager::forget_stream(StreamHandle stream) { core_->forget_stream(stream); }
void Pager::declare_idle() { core_->declare_idle(); }
PagerStats Pager::stats() const { return core_->stats(); }
ModelStats Pager::model_stats(ModelId model) const { return core_->model_stats(model); }
Result<void> Pager::check_invariants() const { return core_->check_invariants(); }

}  // namespace tidegate
