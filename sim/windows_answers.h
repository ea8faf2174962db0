// What Windows would answer a process about a simulated card's video memory, into which sensors plug.
//
// Linux cards, unknown adapters and unknown kinds of question are refused; a dead process is answered nothing.
// Thread-safe. Looking costs nothing and schedules nothing.
#pragma once

#include <string>

#include "sim/process.h"
#include "src/driver/windows_abi.h"

namespace tidegate::sim::win {

using namespace tidegate::win;  // NOLINT: the layouts, which sensors read too

// The adapter's number that DXGI, D3DKMT and CUDA (cuDeviceGetLuid) agree on.
Luid luid_of(int card);

// What DXGI_ADAPTER_DESC says of a card.
struct AdapterDescription {
  std::string name;
  Luid luid{};
  Bytes dedicated = 0;
  Bytes shared = 0;
};
// False: no such adapter.
bool describe_adapter(Process& caller, int card, AdapterDescription* description);

// IDXGIAdapter3::QueryVideoMemoryInfo of the calling process (W-6). `node` must be 0.
HResult query_video_memory_info(Process& caller, int card, std::uint32_t node, SegmentGroup group,
                                QueryVideoMemoryInfo* info);
// IDXGIAdapter3::SetVideoMemoryReservation: a hint, never more than what is available for it (W-7).
HResult set_video_memory_reservation(Process& caller, int card, std::uint32_t node, SegmentGroup group,
                                     std::uint64_t bytes);

// D3DKMTQueryStatistics for segments, a process's segments and its segment groups. `process`: a simulated process's id,
// 0 for the caller. Segment 0 is VRAM, segment 1 the aperture to system memory.
NtStatus query_statistics(Process& caller, QueryStatistics* query);

}  // namespace tidegate::sim::win
