// Tables that answer one status to every call.
#pragma once

#include "src/driver/driver.h"
#include "src/driver/nvml.h"

namespace tidegate::front {

using namespace tidegate::cu;  // NOLINT: the table speaks the driver's own types

class RefusingDriver : public driver::Driver {
 public:
  explicit RefusingDriver(cu::Status status) : status_(status) {}
  const char* description() const override { return "no driver"; }

#define TG_REFUSE(method, symbol, need, parameters, arguments) \
  cu::Status method parameters override { return refuse arguments; }
  TG_CUDA_FUNCTIONS(TG_REFUSE)
#undef TG_REFUSE

 private:
  template <typename... Ignored>
  cu::Status refuse(Ignored&&...) const {
    return status_;
  }
  const cu::Status status_;
};

class RefusingNvml final : public driver::Nvml {
 public:
  explicit RefusingNvml(nvml::Status status) : status_(status) {}
  const char* description() const override { return "no NVML"; }
  const char* error_string(nvml::Status) override { return "Tidegate's simulated card is not available"; }

#define TG_REFUSE(method, symbol, need, parameters, arguments) \
  nvml::Status method parameters override { return refuse arguments; }
  TG_NVML_FUNCTIONS(TG_REFUSE)
#undef TG_REFUSE

 private:
  template <typename... Ignored>
  nvml::Status refuse(Ignored&&...) const {
    return status_;
  }
  const nvml::Status status_;
};

}  // namespace tidegate::front
