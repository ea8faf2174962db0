// The driver's words for its status codes.
#pragma once

#include "src/driver/cuda_abi.h"

namespace tidegate::sim {

// cuGetErrorName and cuGetErrorString; the texts live for ever.
cu::Status error_name(cu::Status status, const char** text);
cu::Status error_string(cu::Status status, const char** text);

}  // namespace tidegate::sim
