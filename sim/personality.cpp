// The linux personality (reference: rules L-1, L-2, L-7, L-9): memory is committed at once or refused, given back at
// once, seen by everybody; unmapping in use is an illegal address in the process that did it.
#include "sim/personality.h"

#include "sim/card.h"
#include "sim/wddm_personality.h"

namespace tidegate::sim {

namespace {

class LinuxPersonality final : public Personality {
 public:
  explicit LinuxPersonality(CardState& card) : card_(card) {}

  const char* name() const override { return card_.profile.personality.c_str(); }

  cu::Status create(Process& process, Holding& holding, base::Nanos) override {
    if (holding.bytes > free()) return cu::kOutOfMemory;
    card_.charge(process, holding.bytes);
    return cu::kSuccess;
  }

  void destroy(Process& process, const Holding& holding, base::Nanos) override {
    card_.discharge(process, holding.bytes);
  }

  bool resize(Process& process, Holding& holding, Bytes bytes, base::Nanos) override {
    if (bytes > holding.bytes && bytes - holding.bytes > free()) return false;
    card_.discharge(process, holding.bytes);
    card_.charge(process, bytes);
    holding.bytes = bytes;
    return true;
  }

  void process_ended(Process& process, base::Nanos) override { card_.discharge(process, card_.held_by(process)); }

  MemInfo mem_info(Process&, base::Nanos) override { return {free(), card_.profile.cuda_total()}; }

  Bytes nvml_free(base::Nanos) override { return free(); }

  bool nvml_per_process() const override { return true; }

  cu::Status unmap_in_use() override { return cu::kIllegalAddress; }

 private:
  Bytes free() const { return card_.profile.cuda_total() - card_.used; }

  CardState& card_;
};

}  // namespace

std::unique_ptr<Personality> make_personality(World& world, CardState& card) {
  if (card.profile.managed_by_windows()) return std::make_unique<WddmPersonality>(world, card);
  return std::make_unique<LinuxPersonality>(card);
}

}  // namespace tidegate::sim
