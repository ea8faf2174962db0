#include "src/driver/nvml_library.h"

#include <string>
#include <utility>

#include "src/driver/errors.h"
#include "src/driver/symbols.h"

namespace tidegate::driver {
namespace {

struct NvmlTable {
  const char* (*error_string)(nvml::Status) = nullptr;
#define TG_POINTER(method, symbol, need, parameters, arguments) nvml::Status(*method) parameters = nullptr;
  TG_NVML_FUNCTIONS(TG_POINTER)
#undef TG_POINTER
};

class NvmlLibrary final : public Nvml {
 public:
  explicit NvmlLibrary(const NvmlTable& table) : table_(table), description_("NVML") {}
  ~NvmlLibrary() override {
    if (started_) (void)table_.shutdown();
  }

  // Once, before anybody else uses the object.
  nvml::Status start() {
    const nvml::Status status = table_.init();
    started_ = status == nvml::kSuccess;
    char version[nvml::kDriverVersionBufferSize] = {};
    if (started_ && table_.system_get_driver_version(version, sizeof version) == nvml::kSuccess)
      description_ = std::string("NVML of driver ") + version;
    return status;
  }

  const char* description() const override { return description_.c_str(); }

  const char* error_string(nvml::Status status) override {
    const char* text = table_.error_string(status);
    return text != nullptr ? text : "unknown error";
  }

#define TG_CALL(method, symbol, need, parameters, arguments)                             \
  nvml::Status method parameters override {                                              \
    return table_.method != nullptr ? table_.method arguments : nvml::kFunctionNotFound; \
  }
  TG_NVML_FUNCTIONS(TG_CALL)
#undef TG_CALL

 private:
  const NvmlTable table_;
  std::string description_;
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<Nvml>> load_nvml(const LoadOptions& options) {
  const std::string name = options.library.empty() ? nvml_library_name() : options.library;
  SymbolResolver resolve = options.resolve;
  if (!resolve) {
    Result<SymbolResolver> opened = open_library(name);
    if (!opened) {
      return Error{Errc::kNoDriver, "no NVML: " + opened.error().message +
                                        "; it comes with NVIDIA's driver (in a container: the 'utility' capability)"};
    }
    resolve = std::move(opened).value();
  }

  NvmlTable table;
  SymbolLoader symbols(resolve);
  symbols.load(table.error_string, "nvmlErrorString", kREQUIRED);
#define TG_LOAD(method, symbol, need, parameters, arguments) symbols.load(table.method, symbol, k##need);
  TG_NVML_FUNCTIONS(TG_LOAD)
#undef TG_LOAD
  if (table.init == nullptr) return Error{Errc::kNoDriver, name + " is not NVML: it has no nvmlInit_v2"};
  if (!symbols.complete())
    return Error{Errc::kDriverTooOld, name + " lacks " + symbols.missing() + ": update NVIDIA's driver"};

  auto library = std::make_unique<NvmlLibrary>(table);
  const nvml::Status status = library->start();
  if (status != nvml::kSuccess) {
    Error error = nvml_error(*library, status, "nvmlInit_v2");
    if (status == nvml::kDriverNotLoaded) {
      error = {Errc::kNoDriver, error.message + "; load NVIDIA's kernel module (nvidia-smi shows why it is not)"};
    } else if (status == nvml::kLibRmVersionMismatch) {
      error.message += "; the library and the kernel's driver are of different versions: reboot";
    }
    return error;
  }
  return std::unique_ptr<Nvml>(std::move(library));
}

}  // namespace tidegate::driver
