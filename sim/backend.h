// What stands behind the driver's face of one operating system process: a driver and NVML over a simulated world.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/windows_answers.h"
#include "src/driver/driver.h"
#include "src/driver/nvml.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::sim {

// Thread-safety: that of the tables. Destroying it ends the simulated process, as exit() would.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual driver::Driver& driver() = 0;
  virtual driver::Nvml& nvml() = 0;

  // Device memory as host memory of this process, to be read only: what lies there, and what will, until
  // unmap_bytes(). Errors: as Machine::share_bytes, kClosed.
  virtual Result<const void*> map_bytes(cu::DevicePtr address, Bytes bytes) = 0;
  virtual void unmap_bytes(const void* mapped) = 0;

  // The process ends: what is to be written then is written.
  virtual void at_exit() {}

  // What Windows would answer this process (sim/windows_answers.h, which says more); by default nobody answers.
  virtual bool describe_adapter(int, win::AdapterDescription*) { return false; }
  virtual win::HResult query_video_memory_info(int, std::uint32_t, win::SegmentGroup, win::QueryVideoMemoryInfo*) {
    return win::kUnsupported;
  }
  virtual win::HResult set_video_memory_reservation(int, std::uint32_t, win::SegmentGroup, std::uint64_t) {
    return win::kUnsupported;
  }
  virtual win::NtStatus query_statistics(win::QueryStatistics*) { return win::kStatusNotSupported; }
  // Machine::now(). Errors: kClosed.
  virtual Result<std::int64_t> now() = 0;
};

}  // namespace tidegate::sim
