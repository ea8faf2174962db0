// NVML that can fail, and that can be of the time before nvmlDeviceGetMemoryInfo_v2.
#pragma once

#include <string_view>

#include "src/driver/nvml.h"

namespace tidegate::testkit {

class FailingNvml final : public driver::Nvml {
 public:
  explicit FailingNvml(driver::Nvml& real) : real_(real) {}

  bool fails = false;
  bool has_second = true;

  const char* description() const override { return real_.description(); }
  const char* error_string(nvml::Status status) override { return real_.error_string(status); }

#define TG_FORWARD(method, symbol, need, parameters, arguments)            \
  nvml::Status method parameters override {                                \
    if (fails) return nvml::kGpuIsLost;                                    \
    if (!has_second && #method == kSecond) return nvml::kFunctionNotFound; \
    return real_.method arguments;                                         \
  }
  TG_NVML_FUNCTIONS(TG_FORWARD)
#undef TG_FORWARD

 private:
  static constexpr std::string_view kSecond = "device_get_memory_info_v2";
  driver::Nvml& real_;
};

}  // namespace tidegate::testkit
