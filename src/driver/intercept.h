// A driver in front of a driver: every call asks a hook first. For fault injection and call counting.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "src/driver/driver.h"
#include "src/driver/function_id.h"

namespace tidegate::driver {

// Forwards every function to `next`, which must outlive it. The hook runs on the calling thread, so it must bear
// concurrent calls where the user makes any, and may itself call `next`.
class Interceptor : public Driver {
 public:
  // A status: the call fails (or succeeds) with it and never reaches `next`, its outputs stay untouched.
  // nullopt: the call goes through.
  using Hook = std::function<std::optional<Status>(FunctionId)>;

  explicit Interceptor(Driver& next, Hook hook = {}) : next_(next), hook_(std::move(hook)) {}

  const char* description() const override { return next_.description(); }

#define TG_FORWARD(method, symbol, need, parameters, arguments)                          \
  Status method parameters override {                                                    \
    if (const std::optional<Status> answer = before(FunctionId::method)) return *answer; \
    return next_.method arguments;                                                       \
  }
  TG_CUDA_FUNCTIONS(TG_FORWARD)
#undef TG_FORWARD

 protected:
  // For those who would rather derive than pass a hook.
  virtual std::optional<Status> before(FunctionId id) { return hook_ ? hook_(id) : std::nullopt; }

  Driver& next() { return next_; }

 private:
  Driver& next_;
  Hook hook_;
};

}  // namespace tidegate::driver
