// What stands behind the driver's face of one operating system process: a driver and NVML over a simulated world.
#pragma once

#include <memory>
#include <string>

#include "src/driver/driver.h"
#include "src/driver/nvml.h"
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
};

}  // namespace tidegate::sim
