// A shared library opened at run time; library_posix.cpp and library_windows.cpp.
#pragma once

#include <functional>
#include <string>

#include "tidegate/result.h"

namespace tidegate::driver {

// The address of a symbol, or null.
using SymbolResolver = std::function<void*(const char* symbol)>;

struct LoadOptions {
  std::string library;     // name or path; empty: the platform's own name
  SymbolResolver resolve;  // for tests: where symbols come from, in place of any library
};

// Opens `name` and never closes it: drivers start threads and exit handlers that outlive every user. The error is
// kNoDriver with the loader's own words.
Result<SymbolResolver> open_library(const std::string& name);

// The same for a library that this process has loaded already; never loads one. Errors: kNotFound.
Result<SymbolResolver> find_loaded_library(const std::string& name);

// The library that stands behind Tidegate's own libcuda.so.1; on Windows nvcuda.dll itself.
const char* front_library_name();

// The default names, by platform.
const char* cuda_library_name();
const char* nvml_library_name();

}  // namespace tidegate::driver
