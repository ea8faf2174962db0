// The driver seam: the GPU driver seen through one table of functions.
//
// Driver has one virtual function per driver function that Tidegate uses, generated from one list, so that the real
// driver (loaded at run time, src/driver/cuda_driver.h), the simulated one (sim/sim_driver.h) and a fault-injecting
// wrapper are interchangeable. Semantics, units and thread-safety are the CUDA driver API's own: any thread may call
// any function; the current context is a property of the calling thread; status codes are cu::Status.
// tests/contract is the suite that every implementation passes.
#pragma once

#include <cstddef>

#include "src/driver/cuda_abi.h"

// X(method, exported symbol, REQUIRED|OPTIONAL, (parameters), (arguments))
// OPTIONAL: a driver without it is still usable; the method then answers kNotSupported.
// clang-format off
#define TG_CUDA_FUNCTIONS(X) \
  X(init, "cuInit", REQUIRED, (unsigned flags), (flags)) \
  X(driver_get_version, "cuDriverGetVersion", REQUIRED, (int* version), (version)) \
  X(get_error_name, "cuGetErrorName", REQUIRED, (Status status, const char** text), (status, text)) \
  X(get_error_string, "cuGetErrorString", REQUIRED, (Status status, const char** text), (status, text)) \
  X(device_get_count, "cuDeviceGetCount", REQUIRED, (int* count), (count)) \
  X(device_get, "cuDeviceGet", REQUIRED, (Device* device, int ordinal), (device, ordinal)) \
  X(device_get_name, "cuDeviceGetName", REQUIRED, (char* name, int length, Device device), (name, length, device)) \
  X(device_get_uuid, "cuDeviceGetUuid_v2", REQUIRED, (Uuid* uuid, Device device), (uuid, device)) \
  X(device_total_mem, "cuDeviceTotalMem_v2", REQUIRED, (std::size_t* bytes, Device device), (bytes, device)) \
  X(device_get_attribute, "cuDeviceGetAttribute", REQUIRED, (int* value, DeviceAttribute attribute, Device device), (value, attribute, device)) \
  X(device_get_default_mem_pool, "cuDeviceGetDefaultMemPool", OPTIONAL, (MemPool* pool, Device device), (pool, device)) \
  X(device_primary_ctx_retain, "cuDevicePrimaryCtxRetain", REQUIRED, (Context* context, Device device), (context, device)) \
  X(device_primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", REQUIRED, (Device device), (device)) \
  X(device_primary_ctx_get_state, "cuDevicePrimaryCtxGetState", OPTIONAL, (Device device, unsigned* flags, int* active), (device, flags, active)) \
  X(ctx_create, "cuCtxCreate_v2", REQUIRED, (Context* context, unsigned flags, Device device), (context, flags, device)) \
  X(ctx_destroy, "cuCtxDestroy_v2", REQUIRED, (Context context), (context)) \
  X(ctx_set_current, "cuCtxSetCurrent", REQUIRED, (Context context), (context)) \
  X(ctx_get_current, "cuCtxGetCurrent", REQUIRED, (Context* context), (context)) \
  X(ctx_push_current, "cuCtxPushCurrent_v2", REQUIRED, (Context context), (context)) \
  X(ctx_pop_current, "cuCtxPopCurrent_v2", REQUIRED, (Context* context), (context)) \
  X(ctx_get_device, "cuCtxGetDevice", REQUIRED, (Device* device), (device)) \
  X(ctx_synchronize, "cuCtxSynchronize", REQUIRED, (), ()) \
  X(mem_get_info, "cuMemGetInfo_v2", REQUIRED, (std::size_t* free, std::size_t* total), (free, total)) \
  X(mem_alloc, "cuMemAlloc_v2", REQUIRED, (DevicePtr* ptr, std::size_t bytes), (ptr, bytes)) \
  X(mem_free, "cuMemFree_v2", REQUIRED, (DevicePtr ptr), (ptr)) \
  X(mem_get_address_range, "cuMemGetAddressRange_v2", OPTIONAL, (DevicePtr* base, std::size_t* bytes, DevicePtr ptr), (base, bytes, ptr)) \
  X(mem_get_allocation_granularity, "cuMemGetAllocationGranularity", REQUIRED, (std::size_t* bytes, const MemProp* prop, MemGranularity option), (bytes, prop, option)) \
  X(mem_address_reserve, "cuMemAddressReserve", REQUIRED, (DevicePtr* ptr, std::size_t bytes, std::size_t alignment, DevicePtr hint, unsigned long long flags), (ptr, bytes, alignment, hint, flags)) \
  X(mem_address_free, "cuMemAddressFree", REQUIRED, (DevicePtr ptr, std::size_t bytes), (ptr, bytes)) \
  X(mem_create, "cuMemCreate", REQUIRED, (MemHandle* handle, std::size_t bytes, const MemProp* prop, unsigned long long flags), (handle, bytes, prop, flags)) \
  X(mem_release, "cuMemRelease", REQUIRED, (MemHandle handle), (handle)) \
  X(mem_map, "cuMemMap", REQUIRED, (DevicePtr ptr, std::size_t bytes, std::size_t offset, MemHandle handle, unsigned long long flags), (ptr, bytes, offset, handle, flags)) \
  X(mem_unmap, "cuMemUnmap", REQUIRED, (DevicePtr ptr, std::size_t bytes), (ptr, bytes)) \
  X(mem_set_access, "cuMemSetAccess", REQUIRED, (DevicePtr ptr, std::size_t bytes, const MemAccess* access, std::size_t count), (ptr, bytes, access, count)) \
  X(mem_host_alloc, "cuMemHostAlloc", REQUIRED, (void** ptr, std::size_t bytes, unsigned flags), (ptr, bytes, flags)) \
  X(mem_free_host, "cuMemFreeHost", REQUIRED, (void* ptr), (ptr)) \
  X(mem_host_register, "cuMemHostRegister_v2", REQUIRED, (void* ptr, std::size_t bytes, unsigned flags), (ptr, bytes, flags)) \
  X(mem_host_unregister, "cuMemHostUnregister", REQUIRED, (void* ptr), (ptr)) \
  X(memcpy_htod_async, "cuMemcpyHtoDAsync_v2", REQUIRED, (DevicePtr dst, const void* src, std::size_t bytes, Stream stream), (dst, src, bytes, stream)) \
  X(memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2", REQUIRED, (void* dst, DevicePtr src, std::size_t bytes, Stream stream), (dst, src, bytes, stream)) \
  X(memcpy_dtod_async, "cuMemcpyDtoDAsync_v2", REQUIRED, (DevicePtr dst, DevicePtr src, std::size_t bytes, Stream stream), (dst, src, bytes, stream)) \
  X(memset_d8_async, "cuMemsetD8Async", REQUIRED, (DevicePtr dst, unsigned char value, std::size_t bytes, Stream stream), (dst, value, bytes, stream)) \
  X(stream_create, "cuStreamCreate", REQUIRED, (Stream* stream, unsigned flags), (stream, flags)) \
  X(stream_create_with_priority, "cuStreamCreateWithPriority", REQUIRED, (Stream* stream, unsigned flags, int priority), (stream, flags, priority)) \
  X(stream_destroy, "cuStreamDestroy_v2", REQUIRED, (Stream stream), (stream)) \
  X(stream_query, "cuStreamQuery", REQUIRED, (Stream stream), (stream)) \
  X(stream_synchronize, "cuStreamSynchronize", REQUIRED, (Stream stream), (stream)) \
  X(stream_wait_event, "cuStreamWaitEvent", REQUIRED, (Stream stream, Event event, unsigned flags), (stream, event, flags)) \
  X(stream_is_capturing, "cuStreamIsCapturing", REQUIRED, (Stream stream, CaptureStatus* status), (stream, status)) \
  X(stream_begin_capture, "cuStreamBeginCapture_v2", REQUIRED, (Stream stream, CaptureMode mode), (stream, mode)) \
  X(stream_end_capture, "cuStreamEndCapture", REQUIRED, (Stream stream, Graph* graph), (stream, graph)) \
  X(thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode", REQUIRED, (CaptureMode* mode), (mode)) \
  X(graph_destroy, "cuGraphDestroy", REQUIRED, (Graph graph), (graph)) \
  X(event_create, "cuEventCreate", REQUIRED, (Event* event, unsigned flags), (event, flags)) \
  X(event_destroy, "cuEventDestroy_v2", REQUIRED, (Event event), (event)) \
  X(event_record, "cuEventRecord", REQUIRED, (Event event, Stream stream), (event, stream)) \
  X(event_query, "cuEventQuery", REQUIRED, (Event event), (event)) \
  X(event_synchronize, "cuEventSynchronize", REQUIRED, (Event event), (event)) \
  X(event_elapsed_time, "cuEventElapsedTime", REQUIRED, (float* milliseconds, Event start, Event end), (milliseconds, start, end)) \
  X(mem_pool_create, "cuMemPoolCreate", OPTIONAL, (MemPool* pool, const MemPoolProps* props), (pool, props)) \
  X(mem_pool_destroy, "cuMemPoolDestroy", OPTIONAL, (MemPool pool), (pool)) \
  X(mem_pool_set_attribute, "cuMemPoolSetAttribute", OPTIONAL, (MemPool pool, MemPoolAttribute attribute, void* value), (pool, attribute, value)) \
  X(mem_pool_get_attribute, "cuMemPoolGetAttribute", OPTIONAL, (MemPool pool, MemPoolAttribute attribute, void* value), (pool, attribute, value)) \
  X(mem_pool_trim_to, "cuMemPoolTrimTo", OPTIONAL, (MemPool pool, std::size_t keep_bytes), (pool, keep_bytes)) \
  X(mem_alloc_async, "cuMemAllocAsync", OPTIONAL, (DevicePtr* ptr, std::size_t bytes, Stream stream), (ptr, bytes, stream)) \
  X(mem_alloc_from_pool_async, "cuMemAllocFromPoolAsync", OPTIONAL, (DevicePtr* ptr, std::size_t bytes, MemPool pool, Stream stream), (ptr, bytes, pool, stream)) \
  X(mem_free_async, "cuMemFreeAsync", OPTIONAL, (DevicePtr ptr, Stream stream), (ptr, stream)) \
  X(module_load_data, "cuModuleLoadData", REQUIRED, (Module* module, const void* image), (module, image)) \
  X(module_unload, "cuModuleUnload", REQUIRED, (Module module), (module)) \
  X(module_get_function, "cuModuleGetFunction", REQUIRED, (Function* function, Module module, const char* name), (function, module, name)) \
  X(launch_kernel, "cuLaunchKernel", REQUIRED, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** params, void** extra), (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params, extra))
// clang-format on

namespace tidegate::driver {

using namespace tidegate::cu;  // NOLINT: the table speaks the driver's own types

class Driver {
 public:
  virtual ~Driver() = default;
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // "CUDA driver 13.0" or "simulated card rtx3050-6g-linux": for messages; lives as long as the driver.
  virtual const char* description() const = 0;

#define TG_DECLARE(method, symbol, need, parameters, arguments) virtual Status method parameters = 0;
  TG_CUDA_FUNCTIONS(TG_DECLARE)
#undef TG_DECLARE
};

}  // namespace tidegate::driver
