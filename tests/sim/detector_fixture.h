// A mapped and written frame for the tests of the detectors.
#pragma once

#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {

class SimDetectors : public SimTest {
 protected:
  static constexpr Bytes kFrame = 2 * kMiB;

  // A mapped frame whose bytes are written, and known to be.
  cu::DevicePtr frame(cu::MemHandle* handle = nullptr) {
    std::vector<cu::MemHandle> handles;
    const cu::DevicePtr va = arena(kFrame, 1, &handles);
    if (handle != nullptr) *handle = handles[0];
    const cu::Stream on = stream();
    EXPECT_OK(cuda().memset_d8_async(va, 0, kFrame, on));
    EXPECT_OK(cuda().stream_synchronize(on));
    return va;
  }
};

}  // namespace tidegate::sim
