#include "cli/probe_measure.h"

#include <algorithm>
#include <array>

#include "cli/device_buffer.h"

namespace tidegate::cli {
namespace {

constexpr int kRounds = 11;  // odd: the median is one of them
constexpr int kMostTries = 16;
constexpr Bytes kCopy = 256 * kMiB;

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

// One frame's life; times in nanoseconds by step.
Result<void> live(RawCard& card, Bytes bytes, cu::DevicePtr at, std::array<std::vector<double>, 5>& times) {
  driver::Driver& driver = card.driver();
  const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, card.device()}, nullptr, {}};
  const cu::MemAccess access{{cu::kLocationDevice, card.device()}, cu::kAccessReadWrite};
  cu::MemHandle handle = 0;
  std::size_t step = 0;
  const auto timed = [&](auto&& call) {
    const long long begin = time_on_card();
    const cu::Status status = call();
    times[step++].push_back(static_cast<double>(time_on_card() - begin));
    return status;
  };
  cu::Status status = timed([&] { return driver.mem_create(&handle, bytes, &prop, 0); });
  if (status != cu::kSuccess) return checked(driver, status, "cuMemCreate");
  status = timed([&] { return driver.mem_map(at, bytes, 0, handle, 0); });
  if (status == cu::kSuccess) {
    status = timed([&] {
      cu::Status made = cu::kNotReady;
      for (int tries = 0; made == cu::kNotReady && tries < kMostTries; ++tries) {
        made = driver.mem_set_access(at, bytes, &access, 1);
      }
      return made;
    });
    if (status == cu::kSuccess) {
      // A frame leaves after a use that was waited for (I2).
      OwnedStream stream(driver);
      if (stream.create()) {
        (void)driver.memset_d8_async(at, 1, 4, stream.get());
        (void)stream.synchronize();
      }
    }
    const cu::Status unmapped = timed([&] { return driver.mem_unmap(at, bytes); });
    if (status == cu::kSuccess) status = unmapped;
  }
  const cu::Status released = timed([&] { return driver.mem_release(handle); });
  return checked(driver, status == cu::kSuccess ? released : status, "mapping a frame");
}

}  // namespace

Result<void> measure_calls(RawCard& card, std::vector<ProbeCost>& out) {
  constexpr const char* kNames[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease"};
  for (const Bytes bytes : {2 * kMiB, 32 * kMiB, 128 * kMiB}) {
    cu::DevicePtr at = 0;
    const cu::Status reserved = card.driver().mem_address_reserve(&at, bytes, 0, 0, 0);
    if (reserved != cu::kSuccess) return checked(card.driver(), reserved, "cuMemAddressReserve");
    std::array<std::vector<double>, 5> times;
    Result<void> done;
    for (int round = 0; round < kRounds && done; ++round) done = live(card, bytes, at, times);
    (void)card.driver().mem_address_free(at, bytes);
    if (!done) return done;
    for (std::size_t i = 0; i < times.size(); ++i) out.push_back({kNames[i], bytes, median(times[i]) / 1e3});
  }
  return {};
}

Result<void> measure_copies(RawCard& card, std::vector<ProbeCost>& out) {
  driver::Driver& driver = card.driver();
  OwnedStream stream(driver);
  EventPool events(driver);
  PinnedBuffer pinned(driver);
  DeviceBuffer device(driver);
  if (auto made = stream.create(); !made) return made;
  if (auto made = events.grow(2); !made) return made;
  if (auto made = pinned.allocate(kCopy); !made) return made;
  if (auto made = device.allocate(kCopy); !made) return made;
  std::vector<unsigned char> pageable(kCopy, 1);
  struct Case {
    const char* name;
    void* host;
    bool up;
  };
  for (const Case& copy : {Case{"host to device, page-locked", pinned.data(), true},
                           Case{"device to host, page-locked", pinned.data(), false},
                           Case{"host to device, pageable", pageable.data(), true},
                           Case{"device to host, pageable", pageable.data(), false}}) {
    std::vector<double> rates;
    for (int round = -1; round < kRounds; ++round) {  // the first one wakes the card up
      if (auto done = events.record(0, stream.get()); !done) return done;
      const cu::Status status = copy.up ? driver.memcpy_htod_async(device.address(), copy.host, kCopy, stream.get())
                                        : driver.memcpy_dtoh_async(copy.host, device.address(), kCopy, stream.get());
      if (auto done = checked(driver, status, copy.name); !done) return done;
      if (auto done = events.record(1, stream.get()); !done) return done;
      if (auto done = stream.synchronize(); !done) return done;
      const auto took = events.seconds_between(0, 1);
      if (!took) return took.error();
      if (round >= 0) rates.push_back(static_cast<double>(kCopy) / 1e9 / std::max(took.value(), 1e-9));
    }
    out.push_back({copy.name, kCopy, median(rates)});
  }
  return {};
}

}  // namespace tidegate::cli
