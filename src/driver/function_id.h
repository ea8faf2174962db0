// One number per function of the driver's table, for counting, tracing and injecting faults.
#pragma once

#include <cstddef>

#include "src/driver/driver.h"

namespace tidegate::driver {

enum class FunctionId : unsigned {
#define TG_ENUMERATE(method, symbol, need, parameters, arguments) method,
  TG_CUDA_FUNCTIONS(TG_ENUMERATE)
#undef TG_ENUMERATE
};

#define TG_COUNT(method, symbol, need, parameters, arguments) +1
inline constexpr std::size_t kFunctionCount = 0 TG_CUDA_FUNCTIONS(TG_COUNT);
#undef TG_COUNT

// The method's name ("mem_create"), or "?" for a number that is no function.
constexpr const char* name_of(FunctionId id) {
  switch (id) {
#define TG_NAME(method, symbol, need, parameters, arguments) \
  case FunctionId::method:                                   \
    return #method;
    TG_CUDA_FUNCTIONS(TG_NAME)
#undef TG_NAME
  }
  return "?";
}

// The exported symbol ("cuMemAlloc_v2"), or "?".
constexpr const char* symbol_of(FunctionId id) {
  switch (id) {
#define TG_SYMBOL(method, symbol, need, parameters, arguments) \
  case FunctionId::method:                                     \
    return symbol;
    TG_CUDA_FUNCTIONS(TG_SYMBOL)
#undef TG_SYMBOL
  }
  return "?";
}

}  // namespace tidegate::driver
