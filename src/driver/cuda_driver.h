// The real CUDA driver, opened at run time.
#pragma once

#include <memory>

#include "src/driver/driver.h"
#include "src/driver/library.h"
#include "tidegate/result.h"

namespace tidegate::driver {

// As cuDriverGetVersion counts: 11.4, the newest that a required symbol asks for (cuDeviceGetUuid_v2; the others:
// cuDevicePrimaryCtxRelease_v2 11.0, cuMemCreate and its kin 10.2). Source: the `since` of each in CUDA's
// cudaTypedefs.h (PFN_cuDeviceGetUuid_v11040). NVIDIA's first driver branch of that version is R470.
inline constexpr int kMinimumDriverVersion = 11040;

// Opens the driver's library, resolves every symbol of the table and calls cuInit. Errors:
//   kNoDriver      the library is missing, is no CUDA driver, or is the toolkit's stub
//   kDriverTooOld  a required symbol is missing (the message names it), or the version is below the minimum
//   kNoDevice      the driver runs and sees no device
//   kDriver        cuInit failed otherwise; driver_status has its code
// Any thread; several loads may coexist. The library stays open for the life of the process.
Result<std::unique_ptr<Driver>> load_cuda_driver(const LoadOptions& options = {});

}  // namespace tidegate::driver
