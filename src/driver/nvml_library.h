// The real NVML, opened at run time.
#pragma once

#include <memory>

#include "src/driver/library.h"
#include "src/driver/nvml.h"
#include "tidegate/result.h"

namespace tidegate::driver {

// Opens the library, resolves every symbol of the table and calls nvmlInit_v2; destroying the object calls
// nvmlShutdown. Errors:
//   kNoDriver      the library is missing, is no NVML, or the kernel's driver is not loaded
//   kDriverTooOld  a required symbol is missing; the message names it
//   kDriver        nvmlInit_v2 failed otherwise; driver_status has NVML's code
// No device is no error here: device_get_count answers 0.
Result<std::unique_ptr<Nvml>> load_nvml(const LoadOptions& options = {});

}  // namespace tidegate::driver
