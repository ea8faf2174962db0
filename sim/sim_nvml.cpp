#include "sim/sim_nvml.h"

#include <cstdio>
#include <cstring>

namespace tidegate::sim {

namespace {

nvml::Status give_text(const std::string& text, char* out, unsigned length) {
  if (out == nullptr) return nvml::kInvalidArgument;
  if (length <= text.size()) return nvml::kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return nvml::kSuccess;
}

std::string uuid_text(const cu::Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

nvml::Device handle_of(const CardState& card) {
  return reinterpret_cast<nvml::Device>(static_cast<std::uintptr_t>(card.index + 1) << 4);  // NOLINT: a number
}

}  // namespace

SimNvml::SimNvml(World& world, Process& process)
    : world_(world),
      process_(process),
      description_("NVML of a simulated card" +
                   (world.cards.empty() ? std::string() : " " + world.cards.front()->profile.name)) {}

template <typename Body>
nvml::Status SimNvml::call(bool costs, Body&& body) {
  if (costs && !world_.cards.empty()) {
    // One reading costs what cuMemGetInfo does (measured: 5.3 us both).
    world_.executor.spend(world_.cards.front()->profile.cost(driver::FunctionId::mem_get_info).of(0));
  }
  const base::Lock lock(world_.mutex);
  world_.advance();
  if (process_.dead || initialized_ == 0) return nvml::kUninitialized;
  return body();
}

CardState* SimNvml::card_of(nvml::Device device) const {
  const auto number = reinterpret_cast<std::uintptr_t>(device);
  const std::uintptr_t index = (number >> 4) - 1;
  if (number == 0 || number % 16 != 0 || index >= world_.cards.size()) return nullptr;
  return world_.cards[index].get();
}

const char* SimNvml::error_string(nvml::Status status) { return nvml_error_text(status); }

const char* nvml_error_text(nvml::Status status) {
  switch (status) {
    case nvml::kSuccess:
      return "Success";
    case nvml::kUninitialized:
      return "Uninitialized";
    case nvml::kInvalidArgument:
      return "Invalid Argument";
    case nvml::kNotSupported:
      return "Not Supported";
    case nvml::kNotFound:
      return "Not Found";
    case nvml::kInsufficientSize:
      return "Insufficient Size";
    case nvml::kArgumentVersionMismatch:
      return "Argument Version Mismatch";
    default:
      return "Unknown Error";
  }
}

nvml::Status SimNvml::init() {
  const base::Lock lock(world_.mutex);
  if (process_.dead) return nvml::kUnknown;
  if (world_.cards.empty()) return nvml::kDriverNotLoaded;
  ++initialized_;
  return nvml::kSuccess;
}

nvml::Status SimNvml::shutdown() {
  return call(false, [&] {
    --initialized_;
    return nvml::kSuccess;
  });
}

nvml::Status SimNvml::system_get_driver_version(char* version, unsigned length) {
  return call(false, [&] { return give_text(world_.cards.front()->profile.driver_release, version, length); });
}

nvml::Status SimNvml::device_get_count(unsigned* count) {
  return call(false, [&] {
    if (count == nullptr) return nvml::kInvalidArgument;
    *count = static_cast<unsigned>(world_.cards.size());
    return nvml::kSuccess;
  });
}

nvml::Status SimNvml::device_get_handle_by_index(unsigned index, nvml::Device* device) {
  return call(false, [&] {
    if (device == nullptr || index >= world_.cards.size()) return nvml::kInvalidArgument;
    *device = handle_of(*world_.cards[index]);
    return nvml::kSuccess;
  });
}

nvml::Status SimNvml::device_get_handle_by_uuid(const char* uuid, nvml::Device* device) {
  return call(false, [&] {
    if (uuid == nullptr || device == nullptr) return nvml::kInvalidArgument;
    for (const auto& card : world_.cards) {
      if (uuid_text(card->uuid) != uuid) continue;
      *device = handle_of(*card);
      return nvml::kSuccess;
    }
    return nvml::kNotFound;
  });
}

nvml::Status SimNvml::device_get_uuid(nvml::Device device, char* uuid, unsigned length) {
  return call(false, [&] {
    const CardState* card = card_of(device);
    return card == nullptr ? nvml::kInvalidArgument : give_text(uuid_text(card->uuid), uuid, length);
  });
}

nvml::Status SimNvml::device_get_name(nvml::Device device, char* name, unsigned length) {
  return call(false, [&] {
    const CardState* card = card_of(device);
    return card == nullptr ? nvml::kInvalidArgument : give_text(card->profile.device_name, name, length);
  });
}

nvml::Status SimNvml::device_get_memory_info(nvml::Device device, nvml::Memory* memory) {
  return call(true, [&] {
    const CardState* card = card_of(device);
    if (card == nullptr || memory == nullptr) return nvml::kInvalidArgument;
    memory->total = card->profile.total;
    memory->free = card->personality->nvml_free(world_.timeline.now());
    memory->used = memory->total - memory->free;  // the reserve lumped in (L-5)
    return nvml::kSuccess;
  });
}

nvml::Status SimNvml::device_get_memory_info_v2(nvml::Device device, nvml::MemoryV2* memory) {
  return call(true, [&] {
    const CardState* card = card_of(device);
    if (card == nullptr || memory == nullptr) return nvml::kInvalidArgument;
    if (memory->version != nvml::kMemoryV2Version) return nvml::kArgumentVersionMismatch;
    memory->total = card->profile.total;
    memory->reserved = card->profile.reserved;
    memory->free = card->personality->nvml_free(world_.timeline.now());
    memory->used = memory->total - memory->reserved - memory->free;
    return nvml::kSuccess;
  });
}

nvml::Status SimNvml::device_get_compute_running_processes_v3(nvml::Device device, unsigned* count,
                                                              nvml::ProcessInfo* infos) {
  return call(true, [&] {
    const CardState* card = card_of(device);
    if (card == nullptr || count == nullptr) return nvml::kInvalidArgument;
    unsigned found = 0;
    for (const auto& process : world_.processes) {
      bool computes = false;
      for (const auto& [handle, context] : process->contexts) computes = computes || context->card == card->index;
      if (!computes) continue;
      if (found < *count && infos != nullptr) {
        const Bytes bytes = card->held_by(*process);
        infos[found] = {static_cast<unsigned>(process->pid()),
                        card->personality->nvml_per_process() ? bytes : nvml::kValueNotAvailable, nvml::kNoInstance,
                        nvml::kNoInstance};
      }
      ++found;
    }
    const bool fits = found <= *count && (infos != nullptr || found == 0);
    *count = found;
    return fits ? nvml::kSuccess : nvml::kInsufficientSize;
  });
}

}  // namespace tidegate::sim
