// Constants, layouts and functions of src/driver/nvml_abi.h and nvml.h against <nvml.h>.
#include <gtest/gtest.h>

#include "src/driver/nvml.h"
#include "tests/abi/same_signature.h"

#if __has_include(<nvml.h>)
#define NVML_NO_UNVERSIONED_FUNC_DEFS  // shows each version of a function under its exported name
#include <nvml.h>
#if defined(nvmlMemory_v2)
#define TG_HAVE_NVML_HEADER 1
#endif
#endif

namespace tidegate::driver {
namespace {

#if defined(TG_HAVE_NVML_HEADER)

TG_SAME_VALUE(nvml::kSuccess, NVML_SUCCESS);
TG_SAME_VALUE(nvml::kUninitialized, NVML_ERROR_UNINITIALIZED);
TG_SAME_VALUE(nvml::kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
TG_SAME_VALUE(nvml::kNotSupported, NVML_ERROR_NOT_SUPPORTED);
TG_SAME_VALUE(nvml::kNoPermission, NVML_ERROR_NO_PERMISSION);
TG_SAME_VALUE(nvml::kAlreadyInitialized, NVML_ERROR_ALREADY_INITIALIZED);
TG_SAME_VALUE(nvml::kNotFound, NVML_ERROR_NOT_FOUND);
TG_SAME_VALUE(nvml::kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE);
TG_SAME_VALUE(nvml::kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED);
TG_SAME_VALUE(nvml::kTimeout, NVML_ERROR_TIMEOUT);
TG_SAME_VALUE(nvml::kLibraryNotFound, NVML_ERROR_LIBRARY_NOT_FOUND);
TG_SAME_VALUE(nvml::kFunctionNotFound, NVML_ERROR_FUNCTION_NOT_FOUND);
TG_SAME_VALUE(nvml::kGpuIsLost, NVML_ERROR_GPU_IS_LOST);
TG_SAME_VALUE(nvml::kLibRmVersionMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
TG_SAME_VALUE(nvml::kMemory, NVML_ERROR_MEMORY);
TG_SAME_VALUE(nvml::kNoData, NVML_ERROR_NO_DATA);
TG_SAME_VALUE(nvml::kArgumentVersionMismatch, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
TG_SAME_VALUE(nvml::kUnknown, NVML_ERROR_UNKNOWN);
TG_SAME_VALUE(nvml::kUuidBufferSize, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
TG_SAME_VALUE(nvml::kNameBufferSize, NVML_DEVICE_NAME_V2_BUFFER_SIZE);
TG_SAME_VALUE(nvml::kDriverVersionBufferSize, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
TG_SAME_VALUE(nvml::kValueNotAvailable, NVML_VALUE_NOT_AVAILABLE);
TG_SAME_VALUE(nvml::kMemoryV2Version, nvmlMemory_v2);

TG_SAME_SIZE(nvml::Memory, nvmlMemory_t);
TG_SAME_FIELD(nvml::Memory, total, nvmlMemory_t, total);
TG_SAME_FIELD(nvml::Memory, free, nvmlMemory_t, free);
TG_SAME_FIELD(nvml::Memory, used, nvmlMemory_t, used);

TG_SAME_SIZE(nvml::MemoryV2, nvmlMemory_v2_t);
TG_SAME_FIELD(nvml::MemoryV2, version, nvmlMemory_v2_t, version);
TG_SAME_FIELD(nvml::MemoryV2, total, nvmlMemory_v2_t, total);
TG_SAME_FIELD(nvml::MemoryV2, reserved, nvmlMemory_v2_t, reserved);
TG_SAME_FIELD(nvml::MemoryV2, free, nvmlMemory_v2_t, free);
TG_SAME_FIELD(nvml::MemoryV2, used, nvmlMemory_v2_t, used);

TG_SAME_SIZE(nvml::ProcessInfo, nvmlProcessInfo_t);
TG_SAME_FIELD(nvml::ProcessInfo, pid, nvmlProcessInfo_t, pid);
TG_SAME_FIELD(nvml::ProcessInfo, used_gpu_memory, nvmlProcessInfo_t, usedGpuMemory);
TG_SAME_FIELD(nvml::ProcessInfo, gpu_instance_id, nvmlProcessInfo_t, gpuInstanceId);
TG_SAME_FIELD(nvml::ProcessInfo, compute_instance_id, nvmlProcessInfo_t, computeInstanceId);

#define TG_PAIRS(X)                                            \
  X(init, nvmlInit_v2)                                         \
  X(shutdown, nvmlShutdown)                                    \
  X(system_get_driver_version, nvmlSystemGetDriverVersion)     \
  X(device_get_count, nvmlDeviceGetCount_v2)                   \
  X(device_get_handle_by_index, nvmlDeviceGetHandleByIndex_v2) \
  X(device_get_handle_by_uuid, nvmlDeviceGetHandleByUUID)      \
  X(device_get_uuid, nvmlDeviceGetUUID)                        \
  X(device_get_name, nvmlDeviceGetName)                        \
  X(device_get_memory_info, nvmlDeviceGetMemoryInfo)           \
  X(device_get_memory_info_v2, nvmlDeviceGetMemoryInfo_v2)     \
  X(device_get_compute_running_processes_v3, nvmlDeviceGetComputeRunningProcesses_v3)

#define TG_CHECK(method, symbol) \
  static_assert(abi::same_signature<decltype(&Nvml::method), decltype(&::symbol)>, #symbol);
TG_PAIRS(TG_CHECK)
TG_CHECK(error_string, nvmlErrorString)

#define TG_THEIRS(method, symbol) #symbol,
#define TG_OURS(method, symbol, need, parameters, arguments) symbol,
constexpr std::string_view kChecked[] = {TG_PAIRS(TG_THEIRS)};
constexpr std::string_view kTable[] = {TG_NVML_FUNCTIONS(TG_OURS)};
static_assert(std::size(kChecked) == std::size(kTable));
static_assert([] {
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    if (kChecked[i] != kTable[i]) return false;
  }
  return true;
}());

#endif

TEST(NvmlAbi, TheTableIsThatOfTheHeader) {
#if !defined(TG_HAVE_NVML_HEADER)
  GTEST_SKIP() << "no <nvml.h> with nvmlMemory_v2 on the include path";
#endif
}

}  // namespace
}  // namespace tidegate::driver
