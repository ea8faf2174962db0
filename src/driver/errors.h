// Driver status codes as Errors.
#pragma once

#include "src/driver/driver.h"
#include "src/driver/nvml.h"
#include "tidegate/result.h"

namespace tidegate::driver {

// One line of code kDriver: "<what>: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory". `what` names the call and what it
// was for. Codes that the driver has no name for appear as their number.
Error driver_error(Driver& driver, Status status, const char* what);

// The same for NVML: "<what>: NVML 15: GPU is lost".
Error nvml_error(Nvml& nvml, nvml::Status status, const char* what);

}  // namespace tidegate::driver
