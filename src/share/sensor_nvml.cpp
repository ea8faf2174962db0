#include <cassert>

#include <fmt/format.h>

#include "src/driver/errors.h"
#include "src/share/sensor.h"

namespace tidegate::share {

DeviceFree Reading::device_free() const {
  assert(scope == Scope::kDevice);
  return {free};
}

ProcessFree Reading::process_free() const {
  assert(scope == Scope::kProcess);
  return {free};
}

std::string uuid_text(const cu::Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

namespace {

class NvmlSensor final : public Sensor {
 public:
  NvmlSensor(driver::Nvml& nvml, const cu::Uuid& uuid) : nvml_(nvml), uuid_(uuid_text(uuid)) {}

  const char* name() const override { return "NVML"; }

  Result<Reading> read() override {
    // Looked up each time: a handle does not outlive a card that fell off the bus and came back.
    nvml::Device device = nullptr;
    nvml::Status status = nvml_.device_get_handle_by_uuid(uuid_.c_str(), &device);
    if (status != nvml::kSuccess) return driver::nvml_error(nvml_, status, ("NVML: the card " + uuid_).c_str());
    Reading reading;
    reading.scope = Scope::kDevice;
    nvml::MemoryV2 second{};
    second.version = nvml::kMemoryV2Version;
    status = nvml_.device_get_memory_info_v2(device, &second);
    if (status == nvml::kSuccess) {
      reading.free = second.free;
      reading.total = second.total;
      reading.reserved = second.reserved;
      reading.why = "NVML counts all processes' resident bytes (v2)";
      return reading;
    }
    nvml::Memory first{};
    status = nvml_.device_get_memory_info(device, &first);
    if (status != nvml::kSuccess) return driver::nvml_error(nvml_, status, "NVML: nvmlDeviceGetMemoryInfo");
    reading.free = first.free;
    reading.total = first.total;
    reading.why = "NVML counts all processes' resident bytes (v1: the driver's reserve is lumped in)";
    return reading;
  }

 private:
  driver::Nvml& nvml_;
  const std::string uuid_;
};

}  // namespace

std::unique_ptr<Sensor> nvml_sensor(driver::Nvml& nvml, const cu::Uuid& uuid) {
  return std::make_unique<NvmlSensor>(nvml, uuid);
}

}  // namespace tidegate::share
