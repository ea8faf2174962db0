// The driver and NVML of a process whose card lives in a broker (`tidegate sim exec`).
#pragma once

#include <memory>
#include <string>

#include "sim/backend.h"
#include "tidegate/result.h"

namespace tidegate::sim {

// `socket_name`: what TIDEGATE_BROKER says. The calling process becomes one simulated process of the broker's world
// until the backend is destroyed or the process ends. Any thread may call; each OS thread counts as one thread of the
// driver. When the broker has gone, calls answer DEINITIALIZED. In a forked child, calls answer NOT_INITIALIZED if the
// parent had called cuInit, and go to a process of its own otherwise.
// Errors: kIo, kClosed; kNotFound on systems without a broker.
Result<std::unique_ptr<Backend>> connect_backend(const std::string& socket_name);

}  // namespace tidegate::sim
