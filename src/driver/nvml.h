// NVML, the driver's management library, seen through one table of functions; the scheme is that of driver.h.
//
// Semantics and thread-safety are NVML's own: any thread may call any function between init and shutdown, which are
// counted. The real library is loaded at run time (src/driver/nvml_library.h).
#pragma once

#include "src/driver/nvml_abi.h"

// X(method, exported symbol, REQUIRED|OPTIONAL, (parameters), (arguments))
// OPTIONAL: a library without it is still usable; the method then answers nvml::kFunctionNotFound.
// error_string stands apart because it answers no status.
// clang-format off
#define TG_NVML_FUNCTIONS(X) \
  X(init, "nvmlInit_v2", REQUIRED, (), ()) \
  X(shutdown, "nvmlShutdown", REQUIRED, (), ()) \
  X(system_get_driver_version, "nvmlSystemGetDriverVersion", REQUIRED, (char* version, unsigned length), (version, length)) \
  X(device_get_count, "nvmlDeviceGetCount_v2", REQUIRED, (unsigned* count), (count)) \
  X(device_get_handle_by_index, "nvmlDeviceGetHandleByIndex_v2", REQUIRED, (unsigned index, nvml::Device* device), (index, device)) \
  X(device_get_handle_by_uuid, "nvmlDeviceGetHandleByUUID", REQUIRED, (const char* uuid, nvml::Device* device), (uuid, device)) \
  X(device_get_uuid, "nvmlDeviceGetUUID", REQUIRED, (nvml::Device device, char* uuid, unsigned length), (device, uuid, length)) \
  X(device_get_name, "nvmlDeviceGetName", REQUIRED, (nvml::Device device, char* name, unsigned length), (device, name, length)) \
  X(device_get_memory_info, "nvmlDeviceGetMemoryInfo", REQUIRED, (nvml::Device device, nvml::Memory* memory), (device, memory)) \
  X(device_get_memory_info_v2, "nvmlDeviceGetMemoryInfo_v2", OPTIONAL, (nvml::Device device, nvml::MemoryV2* memory), (device, memory)) \
  X(device_get_compute_running_processes_v3, "nvmlDeviceGetComputeRunningProcesses_v3", OPTIONAL, (nvml::Device device, unsigned* count, nvml::ProcessInfo* infos), (device, count, infos))
// clang-format on

namespace tidegate::driver {

class Nvml {
 public:
  virtual ~Nvml() = default;
  Nvml() = default;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // "NVML of driver 580.65.06": for messages; lives as long as the object.
  virtual const char* description() const = 0;

  // nvmlErrorString: never null, lives as long as the library.
  virtual const char* error_string(nvml::Status status) = 0;

#define TG_DECLARE(method, symbol, need, parameters, arguments) virtual nvml::Status method parameters = 0;
  TG_NVML_FUNCTIONS(TG_DECLARE)
#undef TG_DECLARE
};

}  // namespace tidegate::driver
