#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "src/share/sensor.h"

namespace tidegate::share {
namespace {

constexpr unsigned char kPattern = 0xA5;
constexpr std::uint32_t kMostSegments = 32;  // VidMm has no more; a card has a handful

Error no_windows(const char* sensor) {
  return Error{Errc::kNotFound, std::string(sensor) + ": Windows' memory manager does not answer for this card"};
}

class DxgiSensor final : public Sensor {
 public:
  explicit DxgiSensor(driver::WindowsGraphics* windows) : windows_(windows) {}
  const char* name() const override { return "DXGI"; }

  Result<Reading> read() override {
    if (windows_ == nullptr) return no_windows("DXGI");
    win::QueryVideoMemoryInfo info{};
    const win::HResult result = windows_->query_video_memory_info(win::SegmentGroup::kLocal, &info);
    if (result != win::kOk) {
      return Error{Errc::kDriver,
                   fmt::format("DXGI: QueryVideoMemoryInfo: {:#010x}", static_cast<std::uint32_t>(result)), result};
    }
    if (info.budget == 0) return Error{Errc::kDriver, "DXGI: QueryVideoMemoryInfo answers a budget of nothing"};
    Reading reading;
    reading.scope = Scope::kProcess;
    reading.total = info.budget;
    reading.free = info.budget - std::min(info.budget, info.current_usage);  // over budget is legal
    reading.own = info.current_usage;
    reading.why = "DXGI: this process's budget less its usage (W-6)";
    return reading;
  }

 private:
  driver::WindowsGraphics* const windows_;
};

class D3dkmtSensor final : public Sensor {
 public:
  explicit D3dkmtSensor(driver::WindowsGraphics* windows) : windows_(windows) {}
  const char* name() const override { return "D3DKMT"; }

  Result<Reading> read() override {
    if (windows_ == nullptr) return no_windows("D3DKMT");
    Bytes limit = 0;
    Bytes taken = 0;
    win::NtStatus status = win::kStatusSuccess;
    for (std::uint32_t segment = 0; segment < kMostSegments; ++segment) {
      win::SegmentInformation information{};
      status = ask(win::StatisticsType::kSegment, segment, information);
      if (status != win::kStatusSuccess) break;
      if (information.aperture != 0) continue;
      limit += information.commit_limit;
      // NVML shows what is resident only; what is committed will be, once it is touched.
      taken += std::max(information.bytes_committed, information.bytes_resident);
    }
    if (limit == 0) {
      return Error{
          Errc::kDriver,
          fmt::format("D3DKMT: QueryStatistics tells of no segment: {:#010x}", static_cast<std::uint32_t>(status)),
          status};
    }
    Reading reading;
    reading.scope = Scope::kDevice;
    reading.total = limit;
    reading.free = limit - std::min(limit, taken);
    reading.why = "D3DKMT: all processes' bytes in the card's segments, touched or not";
    win::ProcessSegmentGroupInformation group{};
    if (ask(win::StatisticsType::kProcessSegmentGroup, 0, group) == win::kStatusSuccess) {
      reading.demoted = std::accumulate(std::begin(group.demoted), std::end(group.demoted), Bytes{0});
      reading.own = group.usage + *reading.demoted;
    }
    return reading;
  }

 private:
  // A success that wrote nothing is none: Wine's answer, for one.
  template <typename Information>
  win::NtStatus ask(win::StatisticsType type, std::uint32_t selector, Information& information) {
    win::QueryStatistics query{};
    std::memset(query.result, kPattern, sizeof query.result);
    query.type = type;
    query.adapter_luid = windows_->luid();
    query.selector = selector;
    const win::NtStatus status = windows_->query_statistics(&query);
    if (status != win::kStatusSuccess) return status;
    const auto untouched = [](unsigned char byte) { return byte == kPattern; };
    const auto zero = [](unsigned char byte) { return byte == 0; };
    const unsigned char* const begin = query.result;
    const unsigned char* const end = begin + sizeof(Information);
    if (std::all_of(begin, end, untouched) || std::all_of(begin, end, zero)) {
      return win::kStatusNotSupported;
    }
    std::memcpy(&information, query.result, sizeof information);
    return status;
  }

  driver::WindowsGraphics* const windows_;
};

}  // namespace

std::unique_ptr<Sensor> dxgi_sensor(driver::WindowsGraphics* windows) { return std::make_unique<DxgiSensor>(windows); }

std::unique_ptr<Sensor> d3dkmt_sensor(driver::WindowsGraphics* windows) {
  return std::make_unique<D3dkmtSensor>(windows);
}

}  // namespace tidegate::share
