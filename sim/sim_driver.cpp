// The driver as such, and devices.
#include "sim/sim_driver.h"

#include <algorithm>
#include <cstring>

#include "sim/sim_call.h"

namespace tidegate::sim {

SimDriver::SimDriver(World& world, Process& process)
    : world_(world),
      process_(process),
      description_("simulated card " +
                   (world.cards.empty() ? std::string("(none)") : world.cards.front()->profile.name)) {}

cu::Status SimDriver::init(unsigned flags) {
  return run_call(world_, process_, Id::init, cost_of(world_, Id::init, 0), [&](Call&) {
    if (flags != 0) return cu::kInvalidValue;
    if (world_.cards.empty()) return cu::kNoDevice;
    process_.initialized = true;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::driver_get_version(int* version) {
  return run_call(world_, process_, Id::driver_get_version, cost_of(world_, Id::driver_get_version, 0), [&](Call&) {
    if (version == nullptr) return cu::kInvalidValue;
    *version = world_.cards.empty() ? 0 : world_.cards.front()->profile.driver_version;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::device_get_count(int* count) {
  return run_call(world_, process_, Id::device_get_count, cost_of(world_, Id::device_get_count, 0), [&](Call&) {
    if (count == nullptr) return cu::kInvalidValue;
    *count = static_cast<int>(world_.cards.size());
    return cu::kSuccess;
  });
}

cu::Status SimDriver::device_get(Device* device, int ordinal) {
  return run_call(world_, process_, Id::device_get, cost_of(world_, Id::device_get, 0), [&](Call&) {
    if (device == nullptr) return cu::kInvalidValue;
    if (ordinal < 0 || ordinal >= static_cast<int>(world_.cards.size())) return cu::kInvalidDevice;
    *device = ordinal;
    return cu::kSuccess;
  });
}

namespace {
CardState* card_at(World& world, cu::Device device) {
  if (device < 0 || device >= static_cast<int>(world.cards.size())) return nullptr;
  return world.cards[static_cast<std::size_t>(device)].get();
}
}  // namespace

cu::Status SimDriver::device_get_name(char* name, int length, Device device) {
  return run_call(world_, process_, Id::device_get_name, cost_of(world_, Id::device_get_name, 0), [&](Call&) {
    if (name == nullptr || length <= 0) return cu::kInvalidValue;
    const CardState* card = card_at(world_, device);
    if (card == nullptr) return cu::kInvalidDevice;
    const std::string& text = card->profile.device_name;
    const std::size_t n = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, text.data(), n);
    name[n] = '\0';
    return cu::kSuccess;
  });
}

cu::Status SimDriver::device_get_uuid(Uuid* uuid, Device device) {
  return run_call(world_, process_, Id::device_get_uuid, cost_of(world_, Id::device_get_uuid, 0), [&](Call&) {
    if (uuid == nullptr) return cu::kInvalidValue;
    const CardState* card = card_at(world_, device);
    if (card == nullptr) return cu::kInvalidDevice;
    *uuid = card->uuid;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::device_total_mem(std::size_t* bytes, Device device) {
  return run_call(world_, process_, Id::device_total_mem, cost_of(world_, Id::device_total_mem, 0), [&](Call&) {
    if (bytes == nullptr) return cu::kInvalidValue;
    const CardState* card = card_at(world_, device);
    if (card == nullptr) return cu::kInvalidDevice;
    *bytes = card->profile.cuda_total();
    return cu::kSuccess;
  });
}

cu::Status SimDriver::device_get_attribute(int* value, DeviceAttribute attribute, Device device) {
  return run_call(world_, process_, Id::device_get_attribute, cost_of(world_, Id::device_get_attribute, 0), [&](Call&) {
    if (value == nullptr) return cu::kInvalidValue;
    const CardState* card = card_at(world_, device);
    if (card == nullptr) return cu::kInvalidDevice;
    switch (attribute) {
      case cu::kAttrMultiprocessorCount:
        *value = card->profile.multiprocessors;
        return cu::kSuccess;
      case cu::kAttrComputeCapabilityMajor:
        *value = card->profile.compute_major;
        return cu::kSuccess;
      case cu::kAttrComputeCapabilityMinor:
        *value = card->profile.compute_minor;
        return cu::kSuccess;
      case cu::kAttrPciBusId:
        *value = card->index + 1;
        return cu::kSuccess;
      case cu::kAttrAsyncEngineCount:
        *value = 2;
        return cu::kSuccess;
      case cu::kAttrUnifiedAddressing:
      case cu::kAttrHostRegisterSupported:
      case cu::kAttrVirtualMemoryManagementSupported:
      case cu::kAttrMemoryPoolsSupported:
        *value = 1;
        return cu::kSuccess;
      case cu::kAttrIntegrated:
      case cu::kAttrPciDeviceId:
      case cu::kAttrPciDomainId:
        *value = 0;
        return cu::kSuccess;
      case cu::kAttrTccDriver:
        *value = card->profile.personality == "tcc" ? 1 : 0;
        return cu::kSuccess;
    }
    return cu::kInvalidValue;
  });
}

}  // namespace tidegate::sim
