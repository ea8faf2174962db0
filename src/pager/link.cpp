#include "src/pager/link.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "src/driver/errors.h"
#include "src/pager/insist.h"

namespace tidegate::pager {

namespace {

// The fastest of a few copies, in milliseconds; negative if an event failed.
float fastest_copy(driver::Driver& driver, cu::Stream stream, cu::DevicePtr device, const void* host, Bytes bytes,
                   cu::Event start, cu::Event end) {
  float fastest = -1;
  for (int i = 0; i < 4; ++i) {
    float elapsed = 0;
    if (driver.event_record(start, stream) != cu::kSuccess ||
        driver.memcpy_htod_async(device, host, bytes, stream) != cu::kSuccess ||
        driver.event_record(end, stream) != cu::kSuccess || driver.event_synchronize(end) != cu::kSuccess ||
        driver.event_elapsed_time(&elapsed, start, end) != cu::kSuccess) {
      continue;
    }
    if (i > 0 && (fastest < 0 || elapsed < fastest)) fastest = elapsed;  // the first one warms up
  }
  return fastest;
}

}  // namespace

Result<Link> measure_link(driver::Driver& driver, cu::Stream stream, cu::DevicePtr device, Bytes room) {
  const Bytes large = std::min<Bytes>(room, 16 * kMiB);
  const Bytes small = 64 * kKiB;
  void* host = nullptr;
  if (const cu::Status status = driver.mem_host_alloc(&host, large, cu::kHostPortable); status != cu::kSuccess) {
    return driver::driver_error(driver, status, "pinning memory to measure the link");
  }
  std::memset(host, 1, large);
  std::array<cu::Event, 2> events{};
  Link link;
  if (driver.event_create(&events[0], cu::kEventDefault) == cu::kSuccess &&
      driver.event_create(&events[1], cu::kEventDefault) == cu::kSuccess) {
    const float slow = fastest_copy(driver, stream, device, host, large, events[0], events[1]);
    const float quick = fastest_copy(driver, stream, device, host, small, events[0], events[1]);
    if (slow > quick && quick > 0) {
      link.bytes_per_ns = static_cast<double>(large - small) / (static_cast<double>(slow - quick) * 1e6);
      const double cost = static_cast<double>(quick) * 1e6 - static_cast<double>(small) / link.bytes_per_ns;
      link.copy_cost = std::max<base::Nanos>(0, static_cast<base::Nanos>(cost));
    }
  }
  // Where a wait failed, copies from `host` may still be queued.
  insist([&] { return driver.stream_synchronize(stream); });
  for (const cu::Event event : events) {
    if (event != nullptr) insist([&] { return driver.event_destroy(event); });
  }
  insist([&] { return driver.mem_free_host(host); });
  // Planning needs some figure; with PCIe 3.0 x16's usual 12 GB/s a wrong plan costs speed, never correctness.
  if (link.bytes_per_ns <= 0) link = {12.0, 3 * base::kMicrosecond};
  return link;
}

}  // namespace tidegate::pager
