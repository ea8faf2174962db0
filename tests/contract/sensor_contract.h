// The sensor contract suite: what every implementation of share::Sensor must do.
//
// An implementation registers itself once with TG_SENSOR_CONTRACT and a world in which it reads: sizes are mebibytes
// that programs take and touch.
#pragma once

#include <memory>
#include <ostream>

#include <gtest/gtest.h>

#include "src/share/sensor.h"

namespace tidegate::contract {

class SensorWorld {
 public:
  virtual ~SensorWorld() = default;
  virtual share::Sensor& sensor() = 0;
  // Takes and touches memory of the card: as this process, or as another one. Whole granules (2 MiB).
  virtual void take(Bytes bytes) = 0;
  virtual void take_as_other(Bytes bytes) = 0;
  // From now on its source fails, or works again.
  virtual void fail(bool fails) = 0;
  // Work that the card was ever given by this process, where the world counts it.
  virtual std::uint64_t submissions() { return 0; }
};

struct SensorImplementation {
  const char* label;
  const char* name;
  Scope scope;
  std::unique_ptr<SensorWorld> (*make)();
};

inline void PrintTo(const SensorImplementation& implementation, std::ostream* out) { *out << implementation.label; }

class SensorContract : public testing::TestWithParam<SensorImplementation> {};

#define TG_SENSOR_CONTRACT(label, name, scope, make)                                                               \
  INSTANTIATE_TEST_SUITE_P(label, SensorContract,                                                                  \
                           testing::Values(::tidegate::contract::SensorImplementation{#label, name, scope, make}), \
                           testing::PrintToStringParamName())

}  // namespace tidegate::contract
