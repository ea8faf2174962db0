// Exported functions that the table does not have: earlier and later versions of its functions, and what follows from
// them.
#include <cstdio>
#include <initializer_list>
#include <utility>

#include "front/composed.h"
#include "front/face.h"
#include "front/get_proc_address.h"

namespace tidegate::front {

using namespace tidegate::cu;  // NOLINT: the table speaks the driver's own types

#define TG_CUDA(name, symbol, parameters)                \
  TG_FACE Status more_##name parameters __asm__(symbol); \
  TG_FACE Status more_##name parameters

// --- Devices ---
TG_CUDA(uuid_v1, "cuDeviceGetUuid", (Uuid * uuid, Device device)) { return driver().device_get_uuid(uuid, device); }
TG_CUDA(compute_capability, "cuDeviceComputeCapability", (int* major, int* minor, Device device)) {
  const Status status = driver().device_get_attribute(major, kAttrComputeCapabilityMajor, device);
  return status == kSuccess ? driver().device_get_attribute(minor, kAttrComputeCapabilityMinor, device) : status;
}
TG_CUDA(can_access_peer, "cuDeviceCanAccessPeer", (int* can, Device, Device)) {
  if (can == nullptr) return kInvalidValue;
  *can = 0;
  return kSuccess;
}
TG_CUDA(pci_bus_id, "cuDeviceGetPCIBusId", (char* text, int length, Device device)) {
  int domain = 0;
  int bus = 0;
  int slot = 0;
  if (text == nullptr || length < 13) return kInvalidValue;  // "0000:00:00.0" and its end
  for (const auto& [value, attribute] :
       {std::pair(&domain, kAttrPciDomainId), std::pair(&bus, kAttrPciBusId), std::pair(&slot, kAttrPciDeviceId)}) {
    const Status status = driver().device_get_attribute(value, attribute, device);
    if (status != kSuccess) return status;
  }
  std::snprintf(text, static_cast<std::size_t>(length), "%04x:%02x:%02x.0", static_cast<unsigned>(domain) & 0xffffu,
                static_cast<unsigned>(bus) & 0xffu, static_cast<unsigned>(slot) & 0xffu);
  return kSuccess;
}
TG_CUDA(luid, "cuDeviceGetLuid", (char* luid, unsigned* node_mask, Device device)) {
  return device_luid(luid, node_mask, device);
}
TG_CUDA(mem_pool, "cuDeviceGetMemPool", (MemPool * pool, Device device)) {
  return driver().device_get_default_mem_pool(pool, device);
}
TG_CUDA(primary_flags, "cuDevicePrimaryCtxSetFlags_v2", (Device, unsigned)) {
  return kSuccess;
}  // they change no answer
TG_CUDA(primary_release_v1, "cuDevicePrimaryCtxRelease", (Device device)) {
  return driver().device_primary_ctx_release(device);
}

// --- Contexts ---
TG_CUDA(create_v3, "cuCtxCreate_v3", (Context * context, void*, int, unsigned flags, Device device)) {
  return driver().ctx_create(context, flags, device);
}
TG_CUDA(create_v4, "cuCtxCreate_v4", (Context * context, void*, unsigned flags, Device device)) {
  return driver().ctx_create(context, flags, device);
}
TG_CUDA(api_version, "cuCtxGetApiVersion", (Context, unsigned* version)) {
  if (version == nullptr) return kInvalidValue;
  *version = 3020;
  return kSuccess;
}
TG_CUDA(context_flags, "cuCtxGetFlags", (unsigned* flags)) {
  Device device = 0;
  if (flags == nullptr) return kInvalidValue;
  *flags = 0;
  return driver().ctx_get_device(&device);
}
TG_CUDA(priorities, "cuCtxGetStreamPriorityRange", (int* least, int* greatest)) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;  // measured: driver 580 on an H200
  Device device = 0;
  return driver().ctx_get_device(&device);
}

// --- Memory ---
TG_CUDA(alloc_host, "cuMemAllocHost_v2", (void** ptr, std::size_t bytes)) {
  return driver().mem_host_alloc(ptr, bytes, 0);
}
TG_CUDA(alloc_pitch, "cuMemAllocPitch_v2",
        (DevicePtr * ptr, std::size_t* pitch, std::size_t width, std::size_t height, unsigned element)) {
  constexpr std::size_t kPitch = 512;
  if (pitch == nullptr || width == 0 || height == 0 || width > (SIZE_MAX - kPitch) / height) return kInvalidValue;
  if (element != 4 && element != 8 && element != 16) return kInvalidValue;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return driver().mem_alloc(ptr, *pitch * height);
}
TG_CUDA(register_v1, "cuMemHostRegister", (void* ptr, std::size_t bytes, unsigned flags)) {
  return driver().mem_host_register(ptr, bytes, flags);
}
TG_CUDA(htod, "cuMemcpyHtoD_v2", (DevicePtr dst, const void* src, std::size_t bytes)) {
  return copy_now(dst, src, bytes, nullptr);
}
TG_CUDA(dtoh, "cuMemcpyDtoH_v2", (void* dst, DevicePtr src, std::size_t bytes)) {
  return copy_now(dst, src, bytes, nullptr);
}
TG_CUDA(dtod, "cuMemcpyDtoD_v2", (DevicePtr dst, DevicePtr src, std::size_t bytes)) {
  return driver().memcpy_dtod_async(dst, src, bytes, nullptr);  // not waited for: it is asynchronous to the host
}
TG_CUDA(any, "cuMemcpy", (DevicePtr dst, DevicePtr src, std::size_t bytes)) {
  return copy_any_now(dst, src, bytes, nullptr);
}
TG_CUDA(any_async, "cuMemcpyAsync", (DevicePtr dst, DevicePtr src, std::size_t bytes, Stream stream)) {
  return copy(dst, src, bytes, stream);
}
TG_CUDA(set, "cuMemsetD8_v2", (DevicePtr dst, unsigned char value, std::size_t bytes)) {
  return driver().memset_d8_async(dst, value, bytes, nullptr);  // asynchronous to the host, like the copy
}
TG_CUDA(set16, "cuMemsetD16_v2", (DevicePtr dst, unsigned short value, std::size_t count)) {
  return fill(dst, value, count, nullptr);
}
TG_CUDA(set32, "cuMemsetD32_v2", (DevicePtr dst, unsigned value, std::size_t count)) {
  return fill(dst, value, count, nullptr);
}
TG_CUDA(set16_async, "cuMemsetD16Async", (DevicePtr dst, unsigned short value, std::size_t count, Stream stream)) {
  return fill(dst, value, count, stream);
}
TG_CUDA(set32_async, "cuMemsetD32Async", (DevicePtr dst, unsigned value, std::size_t count, Stream stream)) {
  return fill(dst, value, count, stream);
}
TG_CUDA(pointer_attribute, "cuPointerGetAttribute", (void* data, PointerAttribute attribute, DevicePtr ptr)) {
  return pointer_attribute(data, attribute, ptr);
}

// --- Events, modules ---
TG_CUDA(record_flags, "cuEventRecordWithFlags", (Event event, Stream stream, unsigned flags)) {
  return record_with_flags(event, stream, flags);
}
TG_CUDA(elapsed_v2, "cuEventElapsedTime_v2", (float* milliseconds, Event start, Event end)) {
  return driver().event_elapsed_time(milliseconds, start, end);
}
TG_CUDA(load, "cuModuleLoad", (Module * module, const char* path)) { return load_module_file(module, path); }
TG_CUDA(load_ex, "cuModuleLoadDataEx", (Module * module, const void* image, unsigned, void*, void**)) {
  return driver().module_load_data(module, image);
}
TG_CUDA(load_fat, "cuModuleLoadFatBinary", (Module * module, const void* image)) {
  return driver().module_load_data(module, image);
}
TG_CUDA(module_global, "cuModuleGetGlobal_v2", (DevicePtr*, std::size_t*, Module, const char*)) { return kNotFound; }

// --- Asking for functions ---
TG_CUDA(proc_address, "cuGetProcAddress",
        (const char* symbol, void** function, int version, unsigned long long flags)) {
  return get_proc_address(symbol, function, version, flags, nullptr);
}
TG_CUDA(proc_address_v2, "cuGetProcAddress_v2",
        (const char* symbol, void** function, int version, unsigned long long flags, ProcAddressResult* result)) {
  return get_proc_address(symbol, function, version, flags, result);
}
// There is no compiler behind it: what would be linked could not run.
static Status no_linking() {
  say_once(
      "this program links kernels of its own; the simulated card has no compiler and runs its built-in kernels only");
  return kNoBinaryForGpu;
}
TG_CUDA(link_create_v1, "cuLinkCreate", (unsigned, void*, void*, void*)) { return no_linking(); }
TG_CUDA(link_create_v2, "cuLinkCreate_v2", (unsigned, void*, void*, void*)) { return no_linking(); }

TG_CUDA(export_table, "cuGetExportTable", (const void** table, const void*)) {
  if (table == nullptr) return kInvalidValue;
  *table = nullptr;
  say_once(
      "this program asks for the private tables of the CUDA runtime (libcudart, as PyTorch uses it); the "
      "simulated card serves programs of the driver API only");
  return kNotSupported;
}

}  // namespace tidegate::front
