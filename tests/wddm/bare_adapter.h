// A bare video memory manager of 1 GiB with one process.
#pragma once

#include "sim/vidmm/vidmm.h"
#include "tests/wddm/wddm_fixture.h"

namespace tidegate::sim {

struct Bare {
  explicit Bare(const Profile& profile) {
    adapter.rules = profile.rules;
    adapter.parameters = profile.wddm;
    adapter.vram = adapter.capacity = kGiB;
    adapter.vram_gb_per_s = 100;
  }
  vidmm::Client& client() { return vidmm::client_of(adapter, 1); }
  vidmm::AllocId create(Bytes bytes) { return vidmm::create(adapter, client(), vidmm::Kind::kVmm, bytes, {}, 0); }

  vidmm::Adapter adapter;
};

}  // namespace tidegate::sim
