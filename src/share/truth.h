// The truth about a card's memory. Device-free and process-free are different things and different types (DESIGN I5);
// the one function that converts is read_driver_free, and it says how.
#pragma once

#include <string>

#include "src/driver/driver.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::share {

// What the card has free, all processes counted.
struct DeviceFree {
  Bytes bytes = 0;
};

// What this process would see free if it were alone: blind to what other processes hold.
struct ProcessFree {
  Bytes bytes = 0;
};

enum class Scope { kDevice, kProcess };
enum class Platform { kLinux, kWindows };

constexpr Platform kThisPlatform =
#if defined(_WIN32)
    Platform::kWindows;
#else
    Platform::kLinux;
#endif

// What one sensor said.
struct Reading {
  Scope scope = Scope::kDevice;
  Bytes bytes = 0;
  std::string source;  // the sensor and why its scope is what it is

  // Asserts the scope.
  DeviceFree device_free() const;
  ProcessFree process_free() const;
};

// cuMemGetInfo of the current context: device-wide on Linux, blind to other processes under WDDM. Errors: kDriver.
Result<Reading> read_driver_free(driver::Driver& driver, Platform platform = kThisPlatform);

}  // namespace tidegate::share
