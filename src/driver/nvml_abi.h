// The part of NVML's binary interface that Tidegate uses, in our own words; tests/abi holds each constant and layout
// against <nvml.h> where that header exists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidegate::nvml {

// nvmlReturn_t. Only the codes that Tidegate tells apart; others pass through as their number.
enum Status : unsigned {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kAlreadyInitialized = 5,
  kNotFound = 6,
  kInsufficientSize = 7,  // the caller's buffer is too small; counts are set to what is needed
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kLibRmVersionMismatch = 18,  // the library and the kernel driver are of different versions
  kMemory = 20,
  kNoData = 21,
  kArgumentVersionMismatch = 25,
  kUnknown = 999,
};

using Device = struct DeviceTag*;

// Sizes that any UUID, name or version fits into, terminating zero included (NVML_DEVICE_UUID_V2_BUFFER_SIZE and kin).
inline constexpr unsigned kUuidBufferSize = 96;
inline constexpr unsigned kNameBufferSize = 96;
inline constexpr unsigned kDriverVersionBufferSize = 80;

// A value that the system does not tell: under WDDM every process's used_gpu_memory (NVML_VALUE_NOT_AVAILABLE).
inline constexpr std::uint64_t kValueNotAvailable = ~std::uint64_t{0};

struct Memory {  // nvmlMemory_t: `used` includes what the driver keeps for itself
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};

struct MemoryV2 {    // nvmlMemory_v2_t: total = reserved + free + used
  unsigned version;  // in: kMemoryV2Version
  std::uint64_t total;
  std::uint64_t reserved;  // the driver's and firmware's own
  std::uint64_t free;
  std::uint64_t used;
};
// NVML_STRUCT_VERSION(Memory, 2): the structure's size, and its version in the top byte.
inline constexpr unsigned kMemoryV2Version = static_cast<unsigned>(sizeof(MemoryV2)) | (2u << 24);

inline constexpr unsigned kNoInstance = 0xFFFFFFFFu;  // gpu_instance_id and compute_instance_id without MIG

struct ProcessInfo {  // nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v2 and _v3 fill it
  unsigned pid;
  std::uint64_t used_gpu_memory;  // bytes, or kValueNotAvailable
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

}  // namespace tidegate::nvml
