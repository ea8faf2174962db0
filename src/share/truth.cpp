#include "src/share/truth.h"

#include <cassert>

#include "src/driver/errors.h"

namespace tidegate::share {

DeviceFree Reading::device_free() const {
  assert(scope == Scope::kDevice);
  return {bytes};
}

ProcessFree Reading::process_free() const {
  assert(scope == Scope::kProcess);
  return {bytes};
}

Result<Reading> read_driver_free(driver::Driver& driver, Platform platform) {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  const driver::Status status = driver.mem_get_info(&free_bytes, &total);
  if (status != driver::kSuccess) return driver::driver_error(driver, status, "cuMemGetInfo");
  if (platform == Platform::kWindows) {
    return Reading{Scope::kProcess, free_bytes, "cuMemGetInfo, which under WDDM does not see other processes"};
  }
  return Reading{Scope::kDevice, free_bytes, "cuMemGetInfo, which on Linux counts all processes"};
}

}  // namespace tidegate::share
