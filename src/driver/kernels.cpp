#include "src/driver/kernels.h"

#include <algorithm>
#include <string>

#include "src/driver/errors.h"
#include "src/driver/kernels.ptx.h"

namespace tidegate::driver {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;  // 2048 threads: as many as a multiprocessor of any card holds
constexpr Bytes kBytesPerThread = 64;             // what the kernel's main loop reads at a time

Result<Function> get_function(Driver& driver, Module module, const char* name) {
  Function function = nullptr;
  const Status status = driver.module_get_function(&function, module, name);
  if (status != kSuccess) return driver_error(driver, status, (std::string("cuModuleGetFunction ") + name).c_str());
  return function;
}

Result<unsigned> count_multiprocessors(Driver& driver) {
  Device device = 0;
  int count = 0;
  Status status = driver.ctx_get_device(&device);
  if (status == kSuccess) status = driver.device_get_attribute(&count, kAttrMultiprocessorCount, device);
  if (status != kSuccess) return driver_error(driver, status, "asking for the number of multiprocessors");
  return static_cast<unsigned>(std::max(count, 1));
}

}  // namespace

std::string_view kernels_ptx() { return {kKernelsPtx, sizeof kKernelsPtx - 1}; }

Result<CheckKernels> CheckKernels::load(Driver& driver) {
  const Result<unsigned> multiprocessors = count_multiprocessors(driver);
  if (!multiprocessors) return multiprocessors.error();

  CheckKernels kernels;
  kernels.max_blocks = multiprocessors.value() * kBlocksPerMultiprocessor;
  const Status status = driver.module_load_data(&kernels.module, kernels_ptx().data());
  if (status != kSuccess) return driver_error(driver, status, "cuModuleLoadData of Tidegate's kernels");

  const Result<Function> checksum = get_function(driver, kernels.module, kChecksumKernel);
  const Result<Function> work = get_function(driver, kernels.module, kWorkKernel);
  if (!checksum || !work) {
    (void)driver.module_unload(kernels.module);
    return checksum ? work.error() : checksum.error();
  }
  kernels.checksum = checksum.value();
  kernels.work = work.value();
  return kernels;
}

Status CheckKernels::unload(Driver& driver) {
  const Status status = driver.module_unload(module);
  *this = {};
  return status;
}

Status CheckKernels::launch_checksum(Driver& driver, DevicePtr ptr, Bytes bytes, DevicePtr out, Stream stream) const {
  const Bytes wanted = round_up(bytes, kBytesPerThread * kBlockThreads) / (kBytesPerThread * kBlockThreads);
  const auto blocks = static_cast<unsigned>(std::clamp<Bytes>(wanted, 1, max_blocks));
  void* params[] = {&ptr, &bytes, &out};
  return driver.launch_kernel(checksum, blocks, 1, 1, kBlockThreads, 1, 1, 0, stream, params, nullptr);
}

Status CheckKernels::launch_work(Driver& driver, DevicePtr ptr, Bytes bytes, std::uint64_t nanoseconds,
                                 Stream stream) const {
  void* params[] = {&ptr, &bytes, &nanoseconds};
  return driver.launch_kernel(work, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
}

}  // namespace tidegate::driver
