// A driver and NVML of a world in virtual time, for threads that the world does not know: each call is a visit.
#pragma once

#include "src/base/virtual_executor.h"
#include "src/driver/driver.h"
#include "src/driver/nvml.h"

namespace tidegate::visiting {  // beside sim, whose names are also those of the driver's types

using namespace tidegate::cu;  // NOLINT: the table speaks the driver's own types

class VisitingDriver final : public driver::Driver {
 public:
  VisitingDriver(base::VirtualExecutor& world, driver::Driver& next) : world_(world), next_(next) {}
  const char* description() const override { return next_.description(); }

#define TG_VISIT(method, symbol, need, parameters, arguments) \
  cu::Status method parameters override {                     \
    const base::VirtualExecutor::Visit visit(world_);         \
    return next_.method arguments;                            \
  }
  TG_CUDA_FUNCTIONS(TG_VISIT)
#undef TG_VISIT

 private:
  base::VirtualExecutor& world_;
  driver::Driver& next_;
};

class VisitingNvml final : public driver::Nvml {
 public:
  VisitingNvml(base::VirtualExecutor& world, driver::Nvml& next) : world_(world), next_(next) {}
  const char* description() const override { return next_.description(); }
  const char* error_string(nvml::Status status) override { return next_.error_string(status); }

#define TG_VISIT(method, symbol, need, parameters, arguments) \
  nvml::Status method parameters override {                   \
    const base::VirtualExecutor::Visit visit(world_);         \
    return next_.method arguments;                            \
  }
  TG_NVML_FUNCTIONS(TG_VISIT)
#undef TG_VISIT

 private:
  base::VirtualExecutor& world_;
  driver::Nvml& next_;
};

}  // namespace tidegate::visiting
