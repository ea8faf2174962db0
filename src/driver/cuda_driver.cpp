#include "src/driver/cuda_driver.h"

#include <string>
#include <utility>

#include "src/driver/errors.h"
#include "src/driver/symbols.h"

#if defined(_WIN32)
#define TG_CUDA_CALL __stdcall
#else
#define TG_CUDA_CALL
#endif

namespace tidegate::driver {
namespace {

struct CudaTable {
#define TG_POINTER(method, symbol, need, parameters, arguments) Status(TG_CUDA_CALL* method) parameters = nullptr;
  TG_CUDA_FUNCTIONS(TG_POINTER)
#undef TG_POINTER
};

class CudaDriver final : public Driver {
 public:
  CudaDriver(const CudaTable& table, std::string description) : table_(table), description_(std::move(description)) {}

  const char* description() const override { return description_.c_str(); }

#define TG_CALL(method, symbol, need, parameters, arguments) \
  Status method parameters override { return table_.method != nullptr ? table_.method arguments : kNotSupported; }
  TG_CUDA_FUNCTIONS(TG_CALL)
#undef TG_CALL

 private:
  const CudaTable table_;
  const std::string description_;
};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error stub_error(const std::string& library) {
  return {Errc::kNoDriver, library +
                               " is the CUDA toolkit's stub, not a driver: take the toolkit's 'stubs' folder out "
                               "of the library search path"};
}

Error no_device_error(const Driver& driver) {
  return {Errc::kNoDevice, std::string(driver.description()) +
                               " sees no device: check nvidia-smi, CUDA_VISIBLE_DEVICES, and, in a container, that it "
                               "was started with access to the GPU"};
}

// What is wrong with a loaded table before cuInit, if anything.
Result<void> check_table(const CudaTable& table, const SymbolLoader& symbols, const std::string& library, int version,
                         Status version_status) {
  if (table.init == nullptr) return Error{Errc::kNoDriver, library + " is not a CUDA driver: it has no cuInit"};
  if (version_status == kStubLibrary) return stub_error(library);
  const std::string needs =
      "; Tidegate needs a driver for CUDA " + version_text(kMinimumDriverVersion) + " or later: update it";
  const std::string has = version > 0 ? "CUDA driver " + version_text(version) : "the driver in " + library;
  if (!symbols.complete()) return Error{Errc::kDriverTooOld, has + " lacks " + symbols.missing() + needs};
  if (version_status == kSuccess && version < kMinimumDriverVersion)
    return Error{Errc::kDriverTooOld, has + " is too old" + needs};
  return {};
}

Result<void> start(Driver& driver, const std::string& library) {
  const Status status = driver.init(0);
  if (status == kStubLibrary) return stub_error(library);
  if (status == kNoDevice) return no_device_error(driver);
  if (status != kSuccess) {
    Error error = driver_error(driver, status, "cuInit");
    if (status == kSystemDriverMismatch)
      error.message += "; the library and the kernel's driver are of different versions: reboot";
    return error;
  }
  int count = 0;
  const Status counted = driver.device_get_count(&count);
  if (counted != kSuccess) return driver_error(driver, counted, "cuDeviceGetCount");
  if (count == 0) return no_device_error(driver);
  return {};
}

}  // namespace

Result<std::unique_ptr<Driver>> load_cuda_driver(const LoadOptions& options) {
  const std::string library = options.library.empty() ? cuda_library_name() : options.library;
  SymbolResolver resolve = options.resolve;
  if (!resolve) {
    Result<SymbolResolver> opened = open_library(library);
    if (!opened) {
      return Error{Errc::kNoDriver,
                   "no CUDA driver: " + opened.error().message +
                       "; install NVIDIA's driver, or, in a container, start it with access to the GPU"};
    }
    resolve = std::move(opened).value();
  }

  CudaTable table;
  SymbolLoader symbols(resolve);
#define TG_LOAD(method, symbol, need, parameters, arguments) symbols.load(table.method, symbol, k##need);
  TG_CUDA_FUNCTIONS(TG_LOAD)
#undef TG_LOAD

  int version = 0;
  Status version_status = kNotInitialized;
  if (table.driver_get_version != nullptr) version_status = table.driver_get_version(&version);
  if (Result<void> checked = check_table(table, symbols, library, version, version_status); !checked)
    return checked.error();

  auto driver = std::make_unique<CudaDriver>(table, "CUDA driver " + version_text(version));
  if (Result<void> started = start(*driver, library); !started) return started.error();
  return std::unique_ptr<Driver>(std::move(driver));
}

}  // namespace tidegate::driver
