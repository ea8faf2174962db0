// Every function of the driver's table against its prototype in <cuda.h>.
#include <gtest/gtest.h>

#include "src/driver/function_id.h"
#include "tests/abi/same_signature.h"

#if __has_include(<cuda.h>)
// Shows each version of a function under its exported name.
#define __CUDA_API_VERSION_INTERNAL  // NOLINT(bugprone-reserved-identifier): the header's own switch
#include <cuda.h>
#if CUDA_VERSION >= 11040
#define TG_HAVE_CUDA_HEADER 1
#endif
#endif

namespace tidegate::driver {
namespace {

#if defined(TG_HAVE_CUDA_HEADER)

// clang-format off
#define TG_PAIRS(X) \
  X(init, cuInit) \
  X(driver_get_version, cuDriverGetVersion) \
  X(get_error_name, cuGetErrorName) \
  X(get_error_string, cuGetErrorString) \
  X(device_get_count, cuDeviceGetCount) \
  X(device_get, cuDeviceGet) \
  X(device_get_name, cuDeviceGetName) \
  X(device_get_uuid, cuDeviceGetUuid_v2) \
  X(device_total_mem, cuDeviceTotalMem_v2) \
  X(device_get_attribute, cuDeviceGetAttribute) \
  X(device_get_default_mem_pool, cuDeviceGetDefaultMemPool) \
  X(device_primary_ctx_retain, cuDevicePrimaryCtxRetain) \
  X(device_primary_ctx_release, cuDevicePrimaryCtxRelease_v2) \
  X(device_primary_ctx_get_state, cuDevicePrimaryCtxGetState) \
  X(ctx_create, cuCtxCreate_v2) \
  X(ctx_destroy, cuCtxDestroy_v2) \
  X(ctx_set_current, cuCtxSetCurrent) \
  X(ctx_get_current, cuCtxGetCurrent) \
  X(ctx_push_current, cuCtxPushCurrent_v2) \
  X(ctx_pop_current, cuCtxPopCurrent_v2) \
  X(ctx_get_device, cuCtxGetDevice) \
  X(ctx_synchronize, cuCtxSynchronize) \
  X(mem_get_info, cuMemGetInfo_v2) \
  X(mem_alloc, cuMemAlloc_v2) \
  X(mem_free, cuMemFree_v2) \
  X(mem_get_address_range, cuMemGetAddressRange_v2) \
  X(mem_get_allocation_granularity, cuMemGetAllocationGranularity) \
  X(mem_address_reserve, cuMemAddressReserve) \
  X(mem_address_free, cuMemAddressFree) \
  X(mem_create, cuMemCreate) \
  X(mem_release, cuMemRelease) \
  X(mem_map, cuMemMap) \
  X(mem_unmap, cuMemUnmap) \
  X(mem_set_access, cuMemSetAccess) \
  X(mem_host_alloc, cuMemHostAlloc) \
  X(mem_free_host, cuMemFreeHost) \
  X(mem_host_register, cuMemHostRegister_v2) \
  X(mem_host_unregister, cuMemHostUnregister) \
  X(memcpy_htod_async, cuMemcpyHtoDAsync_v2) \
  X(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2) \
  X(memcpy_dtod_async, cuMemcpyDtoDAsync_v2) \
  X(memset_d8_async, cuMemsetD8Async) \
  X(stream_create, cuStreamCreate) \
  X(stream_create_with_priority, cuStreamCreateWithPriority) \
  X(stream_destroy, cuStreamDestroy_v2) \
  X(stream_query, cuStreamQuery) \
  X(stream_synchronize, cuStreamSynchronize) \
  X(stream_wait_event, cuStreamWaitEvent) \
  X(stream_is_capturing, cuStreamIsCapturing) \
  X(stream_begin_capture, cuStreamBeginCapture_v2) \
  X(stream_end_capture, cuStreamEndCapture) \
  X(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode) \
  X(graph_destroy, cuGraphDestroy) \
  X(event_create, cuEventCreate) \
  X(event_destroy, cuEventDestroy_v2) \
  X(event_record, cuEventRecord) \
  X(event_query, cuEventQuery) \
  X(event_synchronize, cuEventSynchronize) \
  X(event_elapsed_time, cuEventElapsedTime) \
  X(mem_pool_create, cuMemPoolCreate) \
  X(mem_pool_destroy, cuMemPoolDestroy) \
  X(mem_pool_set_attribute, cuMemPoolSetAttribute) \
  X(mem_pool_get_attribute, cuMemPoolGetAttribute) \
  X(mem_pool_trim_to, cuMemPoolTrimTo) \
  X(mem_alloc_async, cuMemAllocAsync) \
  X(mem_alloc_from_pool_async, cuMemAllocFromPoolAsync) \
  X(mem_free_async, cuMemFreeAsync) \
  X(module_load_data, cuModuleLoadData) \
  X(module_unload, cuModuleUnload) \
  X(module_get_function, cuModuleGetFunction) \
  X(launch_kernel, cuLaunchKernel)
// clang-format on

#define TG_CHECK(method, symbol)                                                               \
  static_assert(abi::same_signature<decltype(&Driver::method), decltype(&::symbol)>, #symbol); \
  static_assert(std::string_view(symbol_of(FunctionId::method)) == #symbol, #symbol);
TG_PAIRS(TG_CHECK)

// The comparison does tell functions apart.
static_assert(!abi::same_signature<decltype(&Driver::mem_unmap), decltype(&::cuMemMap)>);
static_assert(!abi::same_signature<decltype(&Driver::device_get), decltype(&::cuMemFree_v2)>);
static_assert(!abi::same_signature<decltype(&Driver::mem_get_info), decltype(&::cuDeviceGet)>);

// All of them, in the table's order.
#define TG_ID(method, symbol) FunctionId::method,
constexpr FunctionId kChecked[] = {TG_PAIRS(TG_ID)};
static_assert(std::size(kChecked) == kFunctionCount);
static_assert([] {
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    if (kChecked[i] != static_cast<FunctionId>(i)) return false;
  }
  return true;
}());

#endif

TEST(CudaAbi, SignaturesAreThoseOfTheHeader) {
#if !defined(TG_HAVE_CUDA_HEADER)
  GTEST_SKIP() << "no <cuda.h> of CUDA 11.4 or later on the include path";
#endif
}

}  // namespace
}  // namespace tidegate::driver
