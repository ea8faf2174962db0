// What Windows says about one card's video memory, seen through one table: DXGI and the kernel thunks (D3DKMT).
//
// The simulated card answers it under `tidegate sim exec` and in nvcuda.dll; tests bring their own. Questions only: no
// implementation submits work to the card. Any thread.
#pragma once

#include <memory>

#include "src/driver/cuda_abi.h"
#include "src/driver/windows_abi.h"

namespace tidegate::driver {

class WindowsGraphics {
 public:
  virtual ~WindowsGraphics() = default;
  WindowsGraphics() = default;
  WindowsGraphics(const WindowsGraphics&) = delete;
  WindowsGraphics& operator=(const WindowsGraphics&) = delete;

  virtual win::Luid luid() const = 0;  // the card's, as cuDeviceGetLuid and both interfaces have it
  // IDXGIAdapter3::QueryVideoMemoryInfo of node 0 for the calling process.
  virtual win::HResult query_video_memory_info(win::SegmentGroup group, win::QueryVideoMemoryInfo* info) = 0;
  // D3DKMTQueryStatistics; query->process 0: the calling process.
  virtual win::NtStatus query_statistics(win::QueryStatistics* query) = 0;
};

// The simulated card's answers, where Tidegate's front is loaded in this process in the driver's place; null elsewhere,
// and where that card does not behave as under Windows. `device`: the driver's ordinal.
std::unique_ptr<WindowsGraphics> find_simulated_windows(cu::Device device);

// The time of the simulated card in nanoseconds, which passes with its work; negative where no simulated card stands in
// the driver's place.
std::int64_t simulated_card_time();

}  // namespace tidegate::driver
