#include "sim/remote/connect.h"
#include "sim/remote/remote_driver.h"
#include "sim/sim_nvml.h"

namespace tidegate::sim {
namespace remote {

namespace {

Writer request_for(NvmlId id) {
  Writer request;
  request.put(Table::kNvml);
  request.put(static_cast<std::uint32_t>(id));
  return request;
}

}  // namespace

template <NvmlId id, typename... P>
nvml::Status RemoteNvml::invoke(nvml::Status (driver::Nvml::*)(P...), const std::tuple<P...>& values) {
  if constexpr (is_special(id)) {
    static_assert(id == NvmlId::device_get_compute_running_processes_v3);
    return std::apply([this](P... each) { return processes(each...); }, values);
  } else {
    check_parameters<id, P...>();
    Writer request = request_for(id);
    if (!put_parameters(request, values)) return nvml::kInvalidArgument;
    return link_.call(request, nvml::kGpuIsLost, nvml::kUninitialized, [&](Reader& in) { get_results(in, values); });
  }
}

#define TG_INVOKE(method, symbol, need, parameters, arguments)                                           \
  nvml::Status RemoteNvml::method parameters {                                                           \
    return invoke<NvmlId::method>(&driver::Nvml::method, decltype(std::make_tuple arguments) arguments); \
  }
TG_NVML_FUNCTIONS(TG_INVOKE)
#undef TG_INVOKE

const char* RemoteNvml::error_string(nvml::Status status) { return nvml_error_text(status); }

nvml::Status RemoteNvml::processes(nvml::Device device, unsigned* count, nvml::ProcessInfo* infos) {
  Writer request = request_for(NvmlId::device_get_compute_running_processes_v3);
  const unsigned room = count == nullptr ? 0 : std::min<unsigned>(*count, kMostElements);
  request.put(device);
  request.put(static_cast<unsigned char>(count != nullptr));
  request.put(room);
  request.put(static_cast<unsigned char>(infos != nullptr));
  return link_.call(request, nvml::kGpuIsLost, nvml::kUninitialized, [&](Reader& in) {
    const auto found = in.get<unsigned>();
    const auto listed = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < listed && i < room; ++i) {
      const auto info = in.get<nvml::ProcessInfo>();
      if (in.ok()) infos[i] = info;
    }
    if (count != nullptr && in.ok()) *count = found;
  });
}

}  // namespace remote

}  // namespace tidegate::sim
