// The models' weights in host memory, page-locked as ComfyUI does it: each module's are registered on first use, within
// a share of RAM; when that is full, the models that were used longest ago give theirs up, last registered first.
//
// Nobody writes to it, and the simulated card (`sim exec --tags`) hardly reads it: 40 GiB of it take no memory.
#pragma once

#include <vector>

#include "bench/trial/gpu.h"
#include "bench/trial/needs.h"
#include "src/base/address_range.h"

namespace tidegate::trial {

class Pins {
 public:
  Pins(Gpu& gpu, const Needs& needs, Bytes budget);
  // No copy from the memory may be in progress.
  ~Pins();
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  // The model is used from now on: it is the last to give up.
  void begin(std::size_t model);
  // A module's weights, not necessarily page-locked.
  void* at(std::size_t model, std::size_t module) const { return models_[model].pins[module].at; }
  // The same, page-locked if there is room for it.
  void* pinned(std::size_t model, std::size_t module);

  std::uint64_t refused() const { return refused_; }

 private:
  struct Pin {
    void* at = nullptr;
    Bytes bytes = 0;
    bool registered = false;
  };
  struct Owner {
    base::AddressRange memory;
    std::vector<Pin> pins;           // by module
    std::vector<std::size_t> order;  // registered ones, as they came
    std::uint64_t last_used = 0;
  };
  bool make_room(std::size_t model, Bytes bytes);
  void give_up(Owner& owner);

  Gpu& gpu_;
  std::vector<Owner> models_;
  Bytes budget_;
  Bytes registered_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace tidegate::trial
