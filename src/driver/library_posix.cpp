#include <dlfcn.h>

#include "src/driver/library.h"

namespace tidegate::driver {

Result<SymbolResolver> open_library(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error{Errc::kNoDriver, reason != nullptr ? reason : name + ": cannot be opened"};
  }
  return SymbolResolver([handle](const char* symbol) { return ::dlsym(handle, symbol); });
}

Result<SymbolResolver> find_loaded_library(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return Error{Errc::kNotFound, name + " is not loaded"};
  return SymbolResolver([handle](const char* symbol) { return ::dlsym(handle, symbol); });
}

const char* front_library_name() { return "libtidegate_front.so"; }
const char* cuda_library_name() { return "libcuda.so.1"; }
const char* nvml_library_name() { return "libnvidia-ml.so.1"; }

}  // namespace tidegate::driver
