// The simulated driver of one process: implements every function of the driver's table over the machine's world.
//
// Each call charges its host cost first, then takes the machine's lock, brings the device timeline to the present and
// acts. The current context belongs to the calling thread or activity (executor.caller_id()).
#pragma once

#include <string>

#include "sim/world.h"
#include "src/driver/driver.h"

namespace tidegate::sim {

class SimDriver final : public driver::Driver {
 public:
  using Status = cu::Status;
  using Device = cu::Device;
  using DeviceAttribute = cu::DeviceAttribute;
  using Uuid = cu::Uuid;
  using MemPool = cu::MemPool;
  using Context = cu::Context;
  using DevicePtr = cu::DevicePtr;
  using MemProp = cu::MemProp;
  using MemGranularity = cu::MemGranularity;
  using MemHandle = cu::MemHandle;
  using MemAccess = cu::MemAccess;
  using Stream = cu::Stream;
  using Event = cu::Event;
  using CaptureStatus = cu::CaptureStatus;
  using CaptureMode = cu::CaptureMode;
  using Graph = cu::Graph;
  using MemPoolProps = cu::MemPoolProps;
  using MemPoolAttribute = cu::MemPoolAttribute;
  using Module = cu::Module;
  using Function = cu::Function;

  SimDriver(World& world, Process& process);

  const char* description() const override { return description_.c_str(); }

#define TG_DECLARE(method, symbol, need, parameters, arguments) Status method parameters override;
  TG_CUDA_FUNCTIONS(TG_DECLARE)
#undef TG_DECLARE

 private:
  World& world_;
  Process& process_;
  std::string description_;
};

}  // namespace tidegate::sim
