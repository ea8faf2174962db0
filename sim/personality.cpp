// The linux personality (reference: rules L-1, L-2, L-7, L-9): memory is committed at once or refused, given back at
// once, seen by everybody; unmapping in use is an illegal address in the process that did it.
#include "sim/personality.h"

#include "sim/card.h"

namespace tidegate::sim {

namespace {

class LinuxPersonality final : public Personality {
 public:
  const char* name() const override { return "linux"; }

  cu::Status commit(CardState& card, Process& process, Bytes bytes, base::Nanos) override {
    if (bytes > card.profile.cuda_total() - card.used) return cu::kOutOfMemory;
    card.charge(process, bytes);
    return cu::kSuccess;
  }

  void give_back(CardState& card, Process& process, Bytes bytes, base::Nanos) override {
    card.discharge(process, bytes);
  }

  MemInfo mem_info(const CardState& card, const Process&) override {
    return {card.profile.cuda_total() - card.used, card.profile.cuda_total()};
  }

  Bytes nvml_free(const CardState& card) override { return card.profile.cuda_total() - card.used; }

  bool nvml_per_process() const override { return true; }

  cu::Status unmap_in_use() const override { return cu::kIllegalAddress; }
};

}  // namespace

std::unique_ptr<Personality> make_personality(const std::string& name) {
  if (name == "linux") return std::make_unique<LinuxPersonality>();
  return nullptr;
}

}  // namespace tidegate::sim
