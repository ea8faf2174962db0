// The driver's face, seen from inside: what every exported function of libcuda.so.1 and libnvidia-ml.so.1 calls.
//
// The faces live in libraries with the driver's names, this in libtidegate_front.so, which both share, so that CUDA and
// NVML of a process look at one world. Calls among ourselves never pass through an exported name of the driver: other
// people patch those. Thread-safety: any thread, any time, also in a forked child.
#pragma once

#include "src/driver/driver.h"
#include "src/driver/nvml.h"

namespace tidegate::sim {
class Backend;
}

#ifdef _WIN32
#define TG_FRONT_API  // the module definition files say what a DLL exports
#else
#define TG_FRONT_API __attribute__((visibility("default")))
#endif

namespace tidegate::front {

// What stands behind the face, opened by the first call: TIDEGATE_BROKER names a broker's socket, else TIDEGATE_CARD a
// profile. After a failure, told once on stderr, every call answers NO_DEVICE; in the forked child of a process that
// had opened it, NOT_INITIALIZED, as the real driver does.
TG_FRONT_API driver::Driver& driver();
TG_FRONT_API driver::Nvml& nvml();

// An entry point that the simulated card does not have was called: counted by name, and listed at the end in the file
// that TIDEGATE_FRONT_REPORT names. `name` lives for ever.
TG_FRONT_API cu::Status unknown_cuda(const char* name);
TG_FRONT_API nvml::Status unknown_nvml(const char* name);

// Null in a forked child and where there is no card.
sim::Backend* backend();

// cuDeviceGetLuid: the adapter's number in DXGI and D3DKMT; kNotSupported for cards that do not behave as under
// Windows.
TG_FRONT_API cu::Status device_luid(char* luid, unsigned* node_mask, cu::Device device);

// From now on that file is written when the process ends.
void report_at_exit();

// Says `line` on stderr, the first time that this line comes.
TG_FRONT_API void say_once(const char* line);

}  // namespace tidegate::front
