#include "tests/driver/fake_cuda.h"

#include <cstring>
#include <map>

#include "src/driver/cuda_abi.h"
#include "src/driver/nvml_abi.h"

namespace tidegate::driver::testing_support {

FakeCuda fake_cuda;
FakeNvml fake_nvml;

namespace {

cu::Status init(unsigned) { return static_cast<cu::Status>(fake_cuda.init_status); }
cu::Status get_version(int* version) {
  *version = fake_cuda.version;
  return static_cast<cu::Status>(fake_cuda.version_status);
}
cu::Status get_count(int* count) {
  *count = fake_cuda.device_count;
  return cu::kSuccess;
}
cu::Status get_error_name(cu::Status status, const char** text) {
  *text = status == cu::kSystemDriverMismatch ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : nullptr;
  return *text != nullptr ? cu::kSuccess : cu::kInvalidValue;
}
cu::Status get_error_string(cu::Status status, const char** text) {
  *text = status == cu::kSystemDriverMismatch ? "system has unsupported display driver" : nullptr;
  return *text != nullptr ? cu::kSuccess : cu::kInvalidValue;
}
cu::Status unexpected() { return cu::kUnknown; }

nvml::Status nvml_init() { return static_cast<nvml::Status>(fake_nvml.init_status); }
nvml::Status nvml_shutdown() {
  ++fake_nvml.shutdowns;
  return nvml::kSuccess;
}
nvml::Status nvml_version(char* text, unsigned length) {
  std::strncpy(text, "580.65.06", length);
  return nvml::kSuccess;
}
const char* nvml_error_string(nvml::Status) { return "a reason"; }
nvml::Status nvml_unexpected() { return nvml::kUnknown; }

template <typename FunctionPointer>
void* address(FunctionPointer function) {
  return reinterpret_cast<void*>(function);
}

void* find(const std::map<std::string, void*>& known, const std::set<std::string>& missing, const char* symbol,
           void* otherwise) {
  if (missing.count(symbol) != 0) return nullptr;
  const auto found = known.find(symbol);
  return found != known.end() ? found->second : otherwise;
}

}  // namespace

SymbolResolver fake_cuda_resolver() {
  return [](const char* symbol) {
    static const std::map<std::string, void*> known = {
        {"cuInit", address(&init)},
        {"cuDriverGetVersion", address(&get_version)},
        {"cuDeviceGetCount", address(&get_count)},
        {"cuGetErrorName", address(&get_error_name)},
        {"cuGetErrorString", address(&get_error_string)},
    };
    return find(known, fake_cuda.missing, symbol, address(&unexpected));
  };
}

SymbolResolver fake_nvml_resolver() {
  return [](const char* symbol) {
    static const std::map<std::string, void*> known = {
        {"nvmlInit_v2", address(&nvml_init)},
        {"nvmlShutdown", address(&nvml_shutdown)},
        {"nvmlSystemGetDriverVersion", address(&nvml_version)},
        {"nvmlErrorString", address(&nvml_error_string)},
    };
    return find(known, fake_nvml.missing, symbol, address(&nvml_unexpected));
  };
}

}  // namespace tidegate::driver::testing_support
