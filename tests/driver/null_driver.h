// A driver that succeeds at everything and does nothing, for tests of what stands in front of a driver.
#pragma once

#include "src/driver/driver.h"

namespace tidegate::driver::testing_support {

class NullDriver : public Driver {
 public:
  const char* description() const override { return "null driver"; }
  unsigned calls = 0;

#define TG_NULL(method, symbol, need, parameters, arguments) \
  Status method parameters override {                        \
    ++calls;                                                 \
    return discard arguments;                                \
  }
  TG_CUDA_FUNCTIONS(TG_NULL)
#undef TG_NULL

 private:
  template <typename... Arguments>
  static Status discard(const Arguments&...) {
    return kSuccess;
  }
};

}  // namespace tidegate::driver::testing_support
