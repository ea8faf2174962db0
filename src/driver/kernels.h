// Two kernels for checks and benchmarks: a checksum at memory bandwidth and a given time of work. Tidegate's pager
// needs neither.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/driver/driver.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::driver {

inline constexpr const char* kChecksumKernel = "tidegate_checksum";
inline constexpr const char* kWorkKernel = "tidegate_work";

// The PTX of both; its data() ends with a zero, as cuModuleLoadData wants it.
std::string_view kernels_ptx();

// The kernels of one context. Copyable: plain handles, valid until unload() or the context's end. The launches need
// that context to be current; they queue work and wait for nothing. Any thread.
struct CheckKernels {
  Module module = nullptr;
  Function checksum = nullptr;
  Function work = nullptr;
  unsigned max_blocks = 1;  // enough to fill the card

  // Into the current context. Errors: kDriver; nothing stays loaded then.
  static Result<CheckKernels> load(Driver& driver);
  Status unload(Driver& driver);

  // Adds base::checksum of `bytes` bytes at `ptr` to the 64-bit word at `out`. Both are 8-byte aligned device
  // addresses; `out` is the caller's to zero.
  Status launch_checksum(Driver& driver, DevicePtr ptr, Bytes bytes, DevicePtr out, Stream stream) const;

  // Keeps `stream` busy for `nanoseconds`, after reading the byte at `ptr` unless `bytes` is 0. One thread of one
  // block: other streams' work runs beside it.
  Status launch_work(Driver& driver, DevicePtr ptr, Bytes bytes, std::uint64_t nanoseconds, Stream stream) const;
};

}  // namespace tidegate::driver
