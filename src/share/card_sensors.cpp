#include "src/share/card_sensors.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/driver/errors.h"
#include "src/driver/nvml_library.h"

namespace tidegate::share {
namespace {

constexpr int kLongestName = 256;
constexpr unsigned kMostProcesses = 4096;

// A source that could not be opened: its sensor answers why.
class Missing final : public Sensor {
 public:
  Missing(const char* name, Error why) : name_(name), why_{Errc::kNotFound, std::move(why.message)} {}
  const char* name() const override { return name_; }
  Result<Reading> read() override { return why_; }

 private:
  const char* name_;
  const Error why_;
};

}  // namespace

Result<CardSensors> open_card_sensors(driver::Driver& driver, int ordinal) {
  int count = 0;
  driver::Status status = driver.device_get_count(&count);
  if (status != driver::kSuccess) return driver::driver_error(driver, status, "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count) {
    return Error{Errc::kInvalidArgument, fmt::format("there is no card {}: the driver sees {}", ordinal, count)};
  }
  CardSensors card;
  char name[kLongestName] = {};
  std::size_t total = 0;
  int integrated = 0;
  int tcc = 0;
  status = driver.device_get(&card.device, ordinal);
  if (status == driver::kSuccess) status = driver.device_get_uuid(&card.uuid, card.device);
  if (status == driver::kSuccess) status = driver.device_get_name(name, kLongestName - 1, card.device);
  if (status == driver::kSuccess) status = driver.device_total_mem(&total, card.device);
  if (status != driver::kSuccess) return driver::driver_error(driver, status, "asking what card it is");
  (void)driver.device_get_attribute(&integrated, driver::kAttrIntegrated, card.device);
  (void)driver.device_get_attribute(&tcc, driver::kAttrTccDriver, card.device);
  card.name = name;
  card.total = total;
  card.windows = driver::find_simulated_windows(card.device);
  card.prior = blindness_prior(card.windows != nullptr, tcc != 0, base::kernel_release());
  if (auto loaded = driver::load_nvml()) {
    card.nvml = std::move(loaded).value();
    card.sensors.push_back(nvml_sensor(*card.nvml, card.uuid));
  } else {
    card.sensors.push_back(std::make_unique<Missing>("NVML", loaded.error()));
  }
  card.sensors.push_back(d3dkmt_sensor(card.windows.get()));
  card.sensors.push_back(mem_available_sensor(integrated != 0));
  card.sensors.push_back(dxgi_sensor(card.windows.get()));
  card.sensors.push_back(driver_sensor(driver, card.prior));
  card.sensors.push_back(nvidia_smi_sensor(card.uuid));
  return card;
}

Result<std::vector<CardProcess>> processes_on(CardSensors& card) {
  if (card.nvml == nullptr) return Error{Errc::kNotFound, "without NVML nobody tells which processes use the card"};
  nvml::Device device = nullptr;
  nvml::Status status = card.nvml->device_get_handle_by_uuid(uuid_text(card.uuid).c_str(), &device);
  if (status != nvml::kSuccess) return driver::nvml_error(*card.nvml, status, "NVML: finding the card");
  std::vector<nvml::ProcessInfo> infos(64);
  for (;;) {
    auto count = static_cast<unsigned>(infos.size());
    status = card.nvml->device_get_compute_running_processes_v3(device, &count, infos.data());
    if (status == nvml::kInsufficientSize && infos.size() < kMostProcesses) {
      infos.resize(2 * infos.size());
      continue;
    }
    if (status != nvml::kSuccess) return driver::nvml_error(*card.nvml, status, "NVML: listing processes");
    infos.resize(std::min<std::size_t>(count, infos.size()));
    break;
  }
  std::vector<CardProcess> processes;
  for (const nvml::ProcessInfo& info : infos) {
    CardProcess process{info.pid, std::nullopt};
    if (info.used_gpu_memory != nvml::kValueNotAvailable) process.bytes = info.used_gpu_memory;
    processes.push_back(process);
  }
  return processes;
}

ContextCost context_cost(DeviceFree before, DeviceFree after, std::optional<Bytes> charged, const char* source) {
  if (charged && *charged > 0) return {*charged, std::string("what ") + source + " charges to this process"};
  return {before.bytes - std::min(before.bytes, after.bytes),
          std::string("what ") + source + " fell by while it was made: others may have moved in that time"};
}

}  // namespace tidegate::share
