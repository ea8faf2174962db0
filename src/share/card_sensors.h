// All sensors of one card, ranked by what they are good for, and what they need.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/share/sensor.h"

namespace tidegate::share {

// Owns what the sensors read from, but for the driver. Making it creates no context.
struct CardSensors {
  cu::Device device = 0;
  cu::Uuid uuid{};
  std::string name;
  Bytes total = 0;  // cuDeviceTotalMem
  Prior prior;
  std::unique_ptr<driver::Nvml> nvml;                // null: not here; its sensor then says why
  std::unique_ptr<driver::WindowsGraphics> windows;  // null: Windows does not answer for the card
  // NVML, D3DKMT, MemAvailable, DXGI, cuMemGetInfo, nvidia-smi; to be handed to a Truth.
  std::vector<std::unique_ptr<Sensor>> sensors;
};

// `driver` is initialised and outlives the result. Errors: kInvalidArgument (ordinal), kDriver.
Result<CardSensors> open_card_sensors(driver::Driver& driver, int ordinal);

// A process that NVML knows on the card.
struct CardProcess {
  unsigned pid = 0;
  std::optional<Bytes> bytes;  // none: the system does not tell (WDDM)
};
// Errors: kNotFound (no NVML), kDriver.
Result<std::vector<CardProcess>> processes_on(CardSensors& card);

// What a context takes on this card, measured and never assumed (119, 264 and 524 MiB have been seen).
struct ContextCost {
  Bytes bytes = 0;
  std::string how;
};
// `before`, `after`: device-wide readings around its making; `charged`: what a source charges to this process that
// had nothing else then, where one tells.
ContextCost context_cost(DeviceFree before, DeviceFree after, std::optional<Bytes> charged, const char* source);

}  // namespace tidegate::share
