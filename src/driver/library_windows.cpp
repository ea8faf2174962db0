#include <windows.h>

#include "src/driver/library.h"

namespace tidegate::driver {

Result<SymbolResolver> open_library(const std::string& name) {
  // A bare name is the system's own file: the application's folder may hold a front of the same name.
  const bool bare = name.find_first_of("/\\:") == std::string::npos;
  const HMODULE handle = ::LoadLibraryExA(name.c_str(), nullptr, bare ? LOAD_LIBRARY_SEARCH_SYSTEM32 : 0);
  if (handle == nullptr) {
    return Error{Errc::kNoDriver, name + ": cannot be opened (Windows error " + std::to_string(::GetLastError()) + ")"};
  }
  return SymbolResolver(
      [handle](const char* symbol) { return reinterpret_cast<void*>(::GetProcAddress(handle, symbol)); });
}

Result<SymbolResolver> find_loaded_library(const std::string& name) {
  const HMODULE handle = ::GetModuleHandleA(name.c_str());
  if (handle == nullptr) return Error{Errc::kNotFound, name + " is not loaded"};
  return SymbolResolver(
      [handle](const char* symbol) { return reinterpret_cast<void*>(::GetProcAddress(handle, symbol)); });
}

const char* front_library_name() { return "nvcuda.dll"; }
const char* cuda_library_name() { return "nvcuda.dll"; }
const char* nvml_library_name() { return "nvml.dll"; }

}  // namespace tidegate::driver
