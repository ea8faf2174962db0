// NVML's exported functions: one for each of the table, and those that follow from it.
#include "front/face.h"

namespace tidegate::front {

#define TG_DEFINE(method, symbol, need, parameters, arguments)   \
  TG_FACE nvml::Status face_##method parameters __asm__(symbol); \
  TG_FACE nvml::Status face_##method parameters { return nvml().method arguments; }
TG_NVML_FUNCTIONS(TG_DEFINE)
#undef TG_DEFINE

#define TG_NVML(name, symbol, parameters)               \
  TG_FACE nvml::Status name parameters __asm__(symbol); \
  TG_FACE nvml::Status name parameters

TG_NVML(init_v1, "nvmlInit", ()) { return nvml().init(); }
TG_NVML(init_with_flags, "nvmlInitWithFlags", (unsigned)) { return nvml().init(); }
TG_NVML(count_v1, "nvmlDeviceGetCount", (unsigned* count)) { return nvml().device_get_count(count); }
TG_NVML(by_index_v1, "nvmlDeviceGetHandleByIndex", (unsigned index, nvml::Device* device)) {
  return nvml().device_get_handle_by_index(index, device);
}
TG_NVML(nvml_version, "nvmlSystemGetNVMLVersion", (char* version, unsigned length)) {
  return nvml().system_get_driver_version(version, length);
}

TG_FACE const char* error_string(nvml::Status status) __asm__("nvmlErrorString");
TG_FACE const char* error_string(nvml::Status status) { return nvml().error_string(status); }

}  // namespace tidegate::front
