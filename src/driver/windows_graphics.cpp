#include "src/driver/windows_graphics.h"

#include <cstring>

#include "src/driver/library.h"

namespace tidegate::driver {
namespace {

// Signatures of include/tidegate/sim_view.h, and of the driver's cuDeviceGetLuid.
using QueryStatisticsFunction = std::int32_t (*)(void*);
using QueryVideoMemoryInfoFunction = std::int32_t (*)(std::uint32_t, std::uint32_t, std::uint32_t, void*);
using DeviceGetLuid = cu::Status (*)(char*, unsigned*, cu::Device);
using CardTime = std::int64_t (*)();

template <typename Function>
Function look_up(const char* library, const char* symbol) {
  const auto loaded = find_loaded_library(library);
  if (!loaded) return nullptr;
  return reinterpret_cast<Function>(loaded.value()(symbol));
}

class SimulatedWindows final : public WindowsGraphics {
 public:
  SimulatedWindows(cu::Device device, win::Luid luid, QueryVideoMemoryInfoFunction info, QueryStatisticsFunction query)
      : device_(device), luid_(luid), info_(info), query_(query) {}

  win::Luid luid() const override { return luid_; }
  win::HResult query_video_memory_info(win::SegmentGroup group, win::QueryVideoMemoryInfo* info) override {
    return info_(static_cast<std::uint32_t>(device_), 0, static_cast<std::uint32_t>(group), info);
  }
  win::NtStatus query_statistics(win::QueryStatistics* query) override { return query_(query); }

 private:
  const cu::Device device_;
  const win::Luid luid_;
  const QueryVideoMemoryInfoFunction info_;
  const QueryStatisticsFunction query_;
};

}  // namespace

std::unique_ptr<WindowsGraphics> find_simulated_windows(cu::Device device) {
  const char* front = front_library_name();
  const auto query = look_up<QueryStatisticsFunction>(front, "tidegate_sim_query_statistics");
  const auto info = look_up<QueryVideoMemoryInfoFunction>(front, "tidegate_sim_query_video_memory_info");
  const auto get_luid = look_up<DeviceGetLuid>(cuda_library_name(), "cuDeviceGetLuid");
  if (query == nullptr || info == nullptr || get_luid == nullptr || device < 0) return nullptr;
  char bytes[sizeof(win::Luid)] = {};
  unsigned nodes = 0;
  if (get_luid(bytes, &nodes, device) != cu::kSuccess) return nullptr;
  win::Luid luid{};
  std::memcpy(&luid, bytes, sizeof luid);
  return std::make_unique<SimulatedWindows>(device, luid, info, query);
}

std::int64_t simulated_card_time() {
  static const auto now = look_up<CardTime>(front_library_name(), "tidegate_sim_now");
  return now == nullptr ? -1 : now();
}

}  // namespace tidegate::driver
