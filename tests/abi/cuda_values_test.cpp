// Constants and layouts of src/driver/cuda_abi.h against <cuda.h>.
#include <gtest/gtest.h>

#include "src/driver/cuda_abi.h"
#include "tests/abi/same_signature.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#if CUDA_VERSION >= 12080  // the fields and locations named last came with it
#define TG_HAVE_CUDA_HEADER 1
#endif
#endif

namespace tidegate {
namespace {

#if defined(TG_HAVE_CUDA_HEADER)

TG_SAME_VALUE(cu::kSuccess, CUDA_SUCCESS);
TG_SAME_VALUE(cu::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
TG_SAME_VALUE(cu::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
TG_SAME_VALUE(cu::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
TG_SAME_VALUE(cu::kDeinitialized, CUDA_ERROR_DEINITIALIZED);
TG_SAME_VALUE(cu::kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
TG_SAME_VALUE(cu::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
TG_SAME_VALUE(cu::kNoDevice, CUDA_ERROR_NO_DEVICE);
TG_SAME_VALUE(cu::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
TG_SAME_VALUE(cu::kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
TG_SAME_VALUE(cu::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
TG_SAME_VALUE(cu::kMapFailed, CUDA_ERROR_MAP_FAILED);
TG_SAME_VALUE(cu::kUnmapFailed, CUDA_ERROR_UNMAP_FAILED);
TG_SAME_VALUE(cu::kAlreadyMapped, CUDA_ERROR_ALREADY_MAPPED);
TG_SAME_VALUE(cu::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
TG_SAME_VALUE(cu::kNotMapped, CUDA_ERROR_NOT_MAPPED);
TG_SAME_VALUE(cu::kInvalidPtx, CUDA_ERROR_INVALID_PTX);
TG_SAME_VALUE(cu::kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
TG_SAME_VALUE(cu::kFileNotFound, CUDA_ERROR_FILE_NOT_FOUND);
TG_SAME_VALUE(cu::kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
TG_SAME_VALUE(cu::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
TG_SAME_VALUE(cu::kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
TG_SAME_VALUE(cu::kNotFound, CUDA_ERROR_NOT_FOUND);
TG_SAME_VALUE(cu::kNotReady, CUDA_ERROR_NOT_READY);
TG_SAME_VALUE(cu::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
TG_SAME_VALUE(cu::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
TG_SAME_VALUE(cu::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
TG_SAME_VALUE(cu::kPrimaryContextActive, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
TG_SAME_VALUE(cu::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
TG_SAME_VALUE(cu::kHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
TG_SAME_VALUE(cu::kHostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
TG_SAME_VALUE(cu::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
TG_SAME_VALUE(cu::kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
TG_SAME_VALUE(cu::kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
TG_SAME_VALUE(cu::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
TG_SAME_VALUE(cu::kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
TG_SAME_VALUE(cu::kStreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
TG_SAME_VALUE(cu::kStreamCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
TG_SAME_VALUE(cu::kStreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
TG_SAME_VALUE(cu::kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
TG_SAME_VALUE(cu::kUnknown, CUDA_ERROR_UNKNOWN);
TG_SAME_VALUE(cu::kAttrMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
TG_SAME_VALUE(cu::kAttrIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
TG_SAME_VALUE(cu::kAttrPciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
TG_SAME_VALUE(cu::kAttrPciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
TG_SAME_VALUE(cu::kAttrTccDriver, CU_DEVICE_ATTRIBUTE_TCC_DRIVER);
TG_SAME_VALUE(cu::kAttrAsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
TG_SAME_VALUE(cu::kAttrUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
TG_SAME_VALUE(cu::kAttrPciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
TG_SAME_VALUE(cu::kAttrComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
TG_SAME_VALUE(cu::kAttrComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
TG_SAME_VALUE(cu::kAttrHostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
TG_SAME_VALUE(cu::kAttrVirtualMemoryManagementSupported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
TG_SAME_VALUE(cu::kAttrMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
TG_SAME_VALUE(cu::kLocationInvalid, CU_MEM_LOCATION_TYPE_INVALID);
TG_SAME_VALUE(cu::kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
TG_SAME_VALUE(cu::kLocationHost, CU_MEM_LOCATION_TYPE_HOST);
TG_SAME_VALUE(cu::kLocationHostNuma, CU_MEM_LOCATION_TYPE_HOST_NUMA);
TG_SAME_VALUE(cu::kAllocationInvalid, CU_MEM_ALLOCATION_TYPE_INVALID);
TG_SAME_VALUE(cu::kAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
TG_SAME_VALUE(cu::kAccessNone, CU_MEM_ACCESS_FLAGS_PROT_NONE);
TG_SAME_VALUE(cu::kAccessRead, CU_MEM_ACCESS_FLAGS_PROT_READ);
TG_SAME_VALUE(cu::kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
TG_SAME_VALUE(cu::kGranularityMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
TG_SAME_VALUE(cu::kGranularityRecommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
TG_SAME_VALUE(cu::kPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
TG_SAME_VALUE(cu::kPoolReservedCurrent, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
TG_SAME_VALUE(cu::kPoolReservedHigh, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
TG_SAME_VALUE(cu::kPoolUsedCurrent, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
TG_SAME_VALUE(cu::kPoolUsedHigh, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
TG_SAME_VALUE(cu::kStreamDefault, CU_STREAM_DEFAULT);
TG_SAME_VALUE(cu::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
TG_SAME_VALUE(cu::kEventDefault, CU_EVENT_DEFAULT);
TG_SAME_VALUE(cu::kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
TG_SAME_VALUE(cu::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
TG_SAME_VALUE(cu::kHostPortable, CU_MEMHOSTALLOC_PORTABLE);
TG_SAME_VALUE(cu::kHostDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
TG_SAME_VALUE(cu::kHostWriteCombined, CU_MEMHOSTALLOC_WRITECOMBINED);
TG_SAME_VALUE(cu::kRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
TG_SAME_VALUE(cu::kRegisterDeviceMap, CU_MEMHOSTREGISTER_DEVICEMAP);
TG_SAME_VALUE(cu::kRegisterReadOnly, CU_MEMHOSTREGISTER_READ_ONLY);
TG_SAME_VALUE(cu::kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
TG_SAME_VALUE(cu::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
TG_SAME_VALUE(cu::kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
TG_SAME_VALUE(cu::kCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE);
TG_SAME_VALUE(cu::kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
TG_SAME_VALUE(cu::kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);

static_assert(sizeof(cu::Status) == sizeof(CUresult));
TG_SAME_SIZE(cu::Device, CUdevice);
TG_SAME_SIZE(cu::DevicePtr, CUdeviceptr);
TG_SAME_SIZE(cu::MemHandle, CUmemGenericAllocationHandle);
TG_SAME_SIZE(cu::Uuid, CUuuid);
TG_SAME_FIELD(cu::Uuid, bytes, CUuuid, bytes);

TG_SAME_SIZE(cu::MemLocation, CUmemLocation);
TG_SAME_FIELD(cu::MemLocation, type, CUmemLocation, type);
TG_SAME_FIELD(cu::MemLocation, id, CUmemLocation, id);

TG_SAME_SIZE(cu::MemProp, CUmemAllocationProp);
TG_SAME_FIELD(cu::MemProp, type, CUmemAllocationProp, type);
TG_SAME_FIELD(cu::MemProp, requested_handle_types, CUmemAllocationProp, requestedHandleTypes);
TG_SAME_FIELD(cu::MemProp, location, CUmemAllocationProp, location);
TG_SAME_FIELD(cu::MemProp, win32_handle_meta_data, CUmemAllocationProp, win32HandleMetaData);
TG_SAME_FIELD(cu::MemProp, alloc_flags, CUmemAllocationProp, allocFlags);
TG_SAME_FIELD(cu::MemProp, alloc_flags.compression_type, CUmemAllocationProp, allocFlags.compressionType);
TG_SAME_FIELD(cu::MemProp, alloc_flags.gpu_direct_rdma_capable, CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
TG_SAME_FIELD(cu::MemProp, alloc_flags.usage, CUmemAllocationProp, allocFlags.usage);
TG_SAME_FIELD(cu::MemProp, alloc_flags.reserved, CUmemAllocationProp, allocFlags.reserved);

TG_SAME_SIZE(cu::MemAccess, CUmemAccessDesc);
TG_SAME_FIELD(cu::MemAccess, location, CUmemAccessDesc, location);
TG_SAME_FIELD(cu::MemAccess, flags, CUmemAccessDesc, flags);

TG_SAME_SIZE(cu::MemPoolProps, CUmemPoolProps);
TG_SAME_FIELD(cu::MemPoolProps, alloc_type, CUmemPoolProps, allocType);
TG_SAME_FIELD(cu::MemPoolProps, handle_types, CUmemPoolProps, handleTypes);
TG_SAME_FIELD(cu::MemPoolProps, location, CUmemPoolProps, location);
TG_SAME_FIELD(cu::MemPoolProps, win32_security_attributes, CUmemPoolProps, win32SecurityAttributes);
TG_SAME_FIELD(cu::MemPoolProps, max_bytes, CUmemPoolProps, maxSize);
TG_SAME_FIELD(cu::MemPoolProps, usage, CUmemPoolProps, usage);
TG_SAME_FIELD(cu::MemPoolProps, reserved, CUmemPoolProps, reserved);

#endif

TEST(CudaAbi, ValuesAndLayoutsAreThoseOfTheHeader) {
#if !defined(TG_HAVE_CUDA_HEADER)
  GTEST_SKIP() << "no <cuda.h> of CUDA 12.8 or later on the include path";
#endif
}

}  // namespace
}  // namespace tidegate
