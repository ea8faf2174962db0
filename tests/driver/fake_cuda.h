// A driver library without a driver: a resolver whose symbols answer what a test sets.
#pragma once

#include <set>
#include <string>

#include "src/driver/library.h"

namespace tidegate::driver::testing_support {

// What the fake library's functions answer. One at a time; the resolver reads it when called.
struct FakeCuda {
  int version = 12080;
  int device_count = 1;
  unsigned init_status = 0;
  unsigned version_status = 0;
  std::set<std::string> missing;  // symbols that the library lacks
};

extern FakeCuda fake_cuda;

// Every symbol resolves, except the missing ones; those that no test calls lead to a function that answers kUnknown.
SymbolResolver fake_cuda_resolver();

struct FakeNvml {
  unsigned init_status = 0;
  int shutdowns = 0;
  std::set<std::string> missing;
};

extern FakeNvml fake_nvml;

SymbolResolver fake_nvml_resolver();

}  // namespace tidegate::driver::testing_support
