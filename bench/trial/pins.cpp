#include "bench/trial/pins.h"

#include <utility>

namespace tidegate::trial {

Pins::Pins(Gpu& gpu, const Needs& needs, Bytes budget) : gpu_(gpu), models_(needs.models.size()), budget_(budget) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    auto range = base::AddressRange::reserve(needs.models[i].bytes);
    if (!range) fail("host addresses", range.error().message.c_str());
    models_[i].memory = std::move(range).value();
    if (auto made = models_[i].memory.make_usable(0, needs.models[i].bytes); !made) {
      fail("host memory", made.error().message.c_str());
    }
    Bytes offset = 0;
    for (const Module& module : needs.models[i].modules) {
      models_[i].pins.push_back({models_[i].memory.data() + offset, module.bytes, false});
      offset += module.bytes;
    }
  }
}

Pins::~Pins() {
  for (Owner& owner : models_) {
    while (!owner.order.empty()) give_up(owner);
  }
}

void Pins::begin(std::size_t model) { models_[model].last_used = ++clock_; }

void* Pins::pinned(std::size_t model, std::size_t module) {
  Owner& owner = models_[model];
  Pin& pin = owner.pins[module];
  if (pin.registered || !make_room(model, pin.bytes)) return pin.at;
  constexpr unsigned kPortable = 1;
  if (gpu_.cuda().mem_host_register(pin.at, pin.bytes, kPortable) != driver::kSuccess) {
    ++refused_;
    return pin.at;
  }
  pin.registered = true;
  registered_ += pin.bytes;
  owner.order.push_back(module);
  return pin.at;
}

bool Pins::make_room(std::size_t model, Bytes bytes) {
  while (registered_ + bytes > budget_) {
    Owner* oldest = nullptr;
    for (Owner& owner : models_) {
      if (&owner == &models_[model] || owner.order.empty()) continue;
      if (oldest == nullptr || owner.last_used < oldest->last_used) oldest = &owner;
    }
    if (oldest == nullptr) return false;
    give_up(*oldest);
  }
  return true;
}

void Pins::give_up(Owner& owner) {
  Pin& pin = owner.pins[owner.order.back()];
  owner.order.pop_back();
  pin.registered = false;
  registered_ -= pin.bytes;
  gpu_.must(gpu_.cuda().mem_host_unregister(pin.at), "cuMemHostUnregister");
}

}  // namespace tidegate::trial
