// The part of the CUDA driver's binary interface that Tidegate uses, in our own words: constants and layouts are facts
// of the interface; tests/abi holds each against <cuda.h> by static assertion where that header exists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidegate::cu {

// CUresult. Only the codes that Tidegate tells apart; others pass through as their number.
enum Status : unsigned {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kUnmapFailed = 206,
  kAlreadyMapped = 208,
  kNoBinaryForGpu = 209,
  kNotMapped = 211,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kFileNotFound = 301,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPrimaryContextActive = 708,
  kContextIsDestroyed = 709,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemDriverMismatch = 803,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureImplicit = 906,
  kCapturedEvent = 907,
  kUnknown = 999,
};

// Errors after which a context answers nothing but the same error (wddm-model C-4).
constexpr bool is_sticky(Status status) {
  return status == kIllegalAddress || status == kLaunchTimeout || status == kLaunchFailed || status == kUnknown;
}

using Device = int;               // CUdevice
using DevicePtr = std::uint64_t;  // CUdeviceptr: an address in the card's address space
using MemHandle = std::uint64_t;  // CUmemGenericAllocationHandle: physical memory, no address
using Context = struct ContextTag*;
using Stream = struct StreamTag*;  // null: the legacy default stream
using Event = struct EventTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using MemPool = struct MemPoolTag*;
using Graph = struct GraphTag*;

struct Uuid {
  unsigned char bytes[16];
};

enum DeviceAttribute : int {
  kAttrMultiprocessorCount = 16,
  kAttrIntegrated = 18,
  kAttrPciBusId = 33,
  kAttrPciDeviceId = 34,
  kAttrTccDriver = 35,
  kAttrAsyncEngineCount = 40,
  kAttrUnifiedAddressing = 41,
  kAttrPciDomainId = 50,
  kAttrComputeCapabilityMajor = 75,
  kAttrComputeCapabilityMinor = 76,
  kAttrHostRegisterSupported = 99,
  kAttrVirtualMemoryManagementSupported = 102,
  kAttrMemoryPoolsSupported = 115,
};

enum MemLocationType : int { kLocationInvalid = 0, kLocationDevice = 1, kLocationHost = 2, kLocationHostNuma = 3 };
enum MemAllocationType : int { kAllocationInvalid = 0, kAllocationPinned = 1 };
enum MemAccessFlags : int { kAccessNone = 0, kAccessRead = 1, kAccessReadWrite = 3 };
enum MemGranularity : int { kGranularityMinimum = 0, kGranularityRecommended = 1 };

struct MemLocation {
  MemLocationType type;
  int id;  // device ordinal for kLocationDevice
};

struct MemProp {  // CUmemAllocationProp
  MemAllocationType type;
  int requested_handle_types;
  MemLocation location;
  void* win32_handle_meta_data;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } alloc_flags;
};

struct MemAccess {  // CUmemAccessDesc
  MemLocation location;
  MemAccessFlags flags;
};

struct MemPoolProps {  // CUmemPoolProps
  MemAllocationType alloc_type;
  int handle_types;
  MemLocation location;
  void* win32_security_attributes;
  std::size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
};

enum MemPoolAttribute : int {
  kPoolReleaseThreshold = 4,
  kPoolReservedCurrent = 5,
  kPoolReservedHigh = 6,
  kPoolUsedCurrent = 7,
  kPoolUsedHigh = 8,
};

enum StreamFlags : unsigned { kStreamDefault = 0, kStreamNonBlocking = 1 };
enum EventFlags : unsigned { kEventDefault = 0, kEventBlockingSync = 1, kEventDisableTiming = 2 };
enum HostAllocFlags : unsigned { kHostPortable = 1, kHostDeviceMap = 2, kHostWriteCombined = 4 };
enum HostRegisterFlags : unsigned { kRegisterPortable = 1, kRegisterDeviceMap = 2, kRegisterReadOnly = 8 };
enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };

}  // namespace tidegate::cu
