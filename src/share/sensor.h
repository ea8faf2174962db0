// Sensors: what can be asked how much of a card's memory is free. One interface; tests/contract/sensor_contract.h is
// the suite that every implementation passes.
//
// Looking must not hurt: no sensor submits work to the card or makes a context. A sensor that has nothing to say
// answers an error in one line that names it; that is never fatal, it is ranked down (truth.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/base/executor.h"
#include "src/base/system_info.h"
#include "src/driver/driver.h"
#include "src/driver/nvml.h"
#include "src/driver/windows_graphics.h"
#include "tidegate/reading.h"
#include "tidegate/result.h"

namespace tidegate::share {

// What one sensor said once.
struct Reading {
  Scope scope = Scope::kUnknown;
  bool assumed = false;  // the scope is what platform and driver model suggest: it may be corrected by observation
  Bytes free = 0;
  Bytes total = 0;                // what `free` is of; 0: not told
  std::optional<Bytes> reserved;  // what the driver keeps for itself, where told
  std::optional<Bytes> own;       // what is charged to this process, where told
  std::optional<Bytes> demoted;   // bytes of this process that should be in VRAM and are not, where told
  std::string why;                // in words: what it counts, and where its scope is from

  // Each asserts the scope: there is no other way to one of the two types.
  DeviceFree device_free() const;
  ProcessFree process_free() const;
};

class Sensor {
 public:
  virtual ~Sensor() = default;
  Sensor() = default;
  Sensor(const Sensor&) = delete;
  Sensor& operator=(const Sensor&) = delete;

  // One of "NVML", "cuMemGetInfo", "DXGI", "D3DKMT", "MemAvailable", "nvidia-smi".
  virtual const char* name() const = 0;
  // Costs so much (a process, milliseconds) that it is asked only where no other knows.
  virtual bool last_resort() const { return false; }
  // One call at a time. Errors: kNotFound, there is no such thing here; others, it failed this time.
  virtual Result<Reading> read() = 0;
};

// "GPU-01234567-89ab-...": how NVML and nvidia-smi call a card. Never by number, which CUDA_VISIBLE_DEVICES changes.
std::string uuid_text(const cu::Uuid& uuid);

// nvmlDeviceGetMemoryInfo_v2, or the first version where the library has only that. Device-wide on every system;
// resident bytes under WDDM. `nvml` must outlive the sensor.
std::unique_ptr<Sensor> nvml_sensor(driver::Nvml& nvml, const cu::Uuid& uuid);

// What platform and driver model suggest about cuMemGetInfo, and why.
struct Prior {
  Scope scope = Scope::kUnknown;
  std::string why;
};
// `windows`: Windows answers for the card (WDDM, MCDM); `tcc`: the card says that it runs without Windows' memory
// manager; `kernel`: the system's release ("6.1.0", "5.15.90.1-microsoft-standard-WSL2"), "Windows" on Windows.
Prior blindness_prior(bool windows, bool tcc, const std::string& kernel);

// cuMemGetInfo of the calling thread's current context; an error where there is none. `driver` must outlive it.
std::unique_ptr<Sensor> driver_sensor(driver::Driver& driver, Prior prior);

// Budget less usage of this process. `windows` must outlive it; null: no Windows here.
std::unique_ptr<Sensor> dxgi_sensor(driver::WindowsGraphics* windows);

// The card's segments of video memory: what is committed or resident, whichever is more, of all processes.
std::unique_ptr<Sensor> d3dkmt_sensor(driver::WindowsGraphics* windows);

// On an integrated card the system's memory is the card's. `look`: for tests.
std::unique_ptr<Sensor> mem_available_sensor(bool integrated,
                                             std::function<base::HostMemory()> look = base::available_host_memory);

// The program nvidia-smi, which gets `deadline` (3 s by default: it takes about 35 ms where it works, published) and is
// killed then. `program`: for tests.
std::unique_ptr<Sensor> nvidia_smi_sensor(const cu::Uuid& uuid, base::Nanos deadline = 3 * base::kSecond,
                                          std::string program = "nvidia-smi");

}  // namespace tidegate::share
