// The wddm personality: the driver's side of Windows, over the video memory manager of sim/vidmm.
#pragma once

#include <map>
#include <utility>

#include "sim/personality.h"
#include "sim/vidmm/state.h"

namespace tidegate::sim {

class WddmPersonality final : public Personality {
 public:
  WddmPersonality(World& world, CardState& card);

  const char* name() const override;
  WddmPersonality* as_wddm() override { return this; }
  cu::Status create(Process& process, Holding& holding, base::Nanos now) override;
  void destroy(Process& process, const Holding& holding, base::Nanos now) override;
  bool resize(Process& process, Holding& holding, Bytes bytes, base::Nanos now) override;
  void process_ended(Process& process, base::Nanos now) override;
  cu::Status set_access(Process& process, const Mapping& mapping, base::Nanos now) override;
  void placed(Process& process, const Holding& holding, cu::DevicePtr va, Bytes bytes) override;
  void unmapped(Process& process, const Mapping& mapping, base::Nanos now) override;
  void address_freed(Process& process, bool mapped) override;
  bool reuses_addresses() const override { return true; }
  base::Nanos schedule(Op& op, base::Nanos now) override;
  base::Nanos mapping_delay(Process& process, base::Nanos now) override;
  bool admits_pinned(Process& process, Bytes bytes) override;
  bool mappings_keep_memory() const override { return adapter_.on(39); }
  bool unmap_waits() const override { return !adapter_.on(40); }
  bool trims_pools() const override { return adapter_.on(43); }
  MemInfo mem_info(Process& process, base::Nanos now) override;
  Bytes nvml_free(base::Nanos now) override;
  bool nvml_per_process() const override { return !adapter_.on(45); }
  cu::Status unmap_in_use() override;

  // The room's own: what Windows would answer (d3dkmt.h, dxgi.h), the fault-injection knobs, and tests.
  vidmm::Adapter& adapter() { return adapter_; }

 private:
  vidmm::CallRef call_of(const Process& process) const;
  // Reports what the video memory manager found.
  void report(Process& process);

  World& world_;
  CardState& card_;
  vidmm::Adapter adapter_;
  std::map<int, bool> pin_failed_;                             // per process
  std::map<std::pair<int, cu::DevicePtr>, unsigned> refused_;  // H-9: how often a mapping's access was not ready
};

}  // namespace tidegate::sim
