// NVML as one simulated process sees it. Any thread may call any function.
#pragma once

#include <string>

#include "sim/world.h"
#include "src/driver/nvml.h"

namespace tidegate::sim {

// nvmlErrorString; lives for ever.
const char* nvml_error_text(nvml::Status status);

class SimNvml final : public driver::Nvml {
 public:
  SimNvml(World& world, Process& process);

  const char* description() const override { return description_.c_str(); }
  const char* error_string(nvml::Status status) override;

#define TG_DECLARE(method, symbol, need, parameters, arguments) nvml::Status method parameters override;
  TG_NVML_FUNCTIONS(TG_DECLARE)
#undef TG_DECLARE

 private:
  // Charges what a reading costs, takes the lock and runs body(); answers kUninitialized outside init ... shutdown.
  template <typename Body>
  nvml::Status call(bool costs, Body&& body);
  CardState* card_of(nvml::Device device) const;

  World& world_;
  Process& process_;
  std::string description_;
  unsigned initialized_ = 0;  // guarded by the world's lock
};

}  // namespace tidegate::sim
