// Layouts and numbers of two interfaces of Windows: what DXGI and the kernel thunks (D3DKMT) answer about video memory.
//
// Facts of the x64 interfaces, written down in our own words; offsets are held by assertions. Names are Windows' own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidegate::sim::win {

using HResult = std::int32_t;
using NtStatus = std::int32_t;
inline constexpr HResult kOk = 0;
inline constexpr HResult kInvalidCall = static_cast<HResult>(0x887A0001);  // DXGI_ERROR_INVALID_CALL
inline constexpr HResult kUnsupported = static_cast<HResult>(0x887A0004);  // DXGI_ERROR_UNSUPPORTED
inline constexpr NtStatus kStatusSuccess = 0;
inline constexpr NtStatus kStatusInvalidParameter = static_cast<NtStatus>(0xC000000D);
inline constexpr NtStatus kStatusNotSupported = static_cast<NtStatus>(0xC00000BB);

// DXGI_MEMORY_SEGMENT_GROUP, and the kernel's group numbers.
enum class SegmentGroup : std::uint32_t { kLocal = 0, kNonLocal = 1 };

struct QueryVideoMemoryInfo {  // DXGI_QUERY_VIDEO_MEMORY_INFO
  std::uint64_t Budget;
  std::uint64_t CurrentUsage;
  std::uint64_t AvailableForReservation;
  std::uint64_t CurrentReservation;
};
static_assert(sizeof(QueryVideoMemoryInfo) == 32);

struct Luid {
  std::uint32_t LowPart;
  std::int32_t HighPart;
};

enum class StatisticsType : std::uint32_t {
  kAdapter = 0,
  kProcess = 1,
  kProcessAdapter = 2,
  kSegment = 3,
  kProcessSegment = 4,
  kNode = 5,
  kProcessNode = 6,
  kProcessSegmentGroup = 9,
};

struct QueryStatistics {  // D3DKMT_QUERYSTATISTICS
  StatisticsType Type;
  Luid AdapterLuid;
  std::uint64_t hProcess;
  alignas(8) unsigned char Result[0x308];
  std::uint32_t Selector;  // SegmentId, SegmentGroup or NodeId
};
static_assert(sizeof(QueryStatistics) == 0x328);
static_assert(offsetof(QueryStatistics, AdapterLuid) == 4);
static_assert(offsetof(QueryStatistics, hProcess) == 16);
static_assert(offsetof(QueryStatistics, Result) == 24);
static_assert(offsetof(QueryStatistics, Selector) == 800);

struct SegmentInformation {
  std::uint64_t CommitLimit;
  std::uint64_t BytesCommitted;
  std::uint64_t BytesResident;
  struct {
    std::uint64_t TotalBytesEvicted;
    std::uint32_t AllocsCommitted;
    std::uint32_t AllocsResident;
  } Memory;
  std::uint32_t Aperture;
  std::uint64_t TotalBytesEvictedByPriority[5];
  std::uint64_t SystemMemoryEndAddress;
  std::uint64_t PowerFlags;
  std::uint64_t SegmentProperties;
  std::uint64_t Reserved[5];
};
static_assert(sizeof(SegmentInformation) == 152);
static_assert(offsetof(SegmentInformation, Aperture) == 40);
static_assert(offsetof(SegmentInformation, TotalBytesEvictedByPriority) == 48);

struct ProcessSegmentGroupInformation {
  std::uint64_t Budget;
  std::uint64_t Requested;  // undocumented; here usage and demoted
  std::uint64_t Usage;
  std::uint64_t Demoted[5];  // by priority class, Min ... Max
};
static_assert(sizeof(ProcessSegmentGroupInformation) == 64);

struct CountAndBytes {
  std::uint32_t Count;
  std::uint64_t Bytes;
};

struct ProcessSegmentInformation {
  std::uint64_t BytesCommitted;
  std::uint64_t MaximumWorkingSet;
  std::uint64_t MinimumWorkingSet;
  std::uint32_t NbReferencedAllocationEvictedInPeriod;
  std::uint32_t Padding;
  struct {
    std::uint32_t AllocsCommitted;
    CountAndBytes AllocsResidentInP[5];
    CountAndBytes AllocsResidentInNonPreferred;
    std::uint64_t TotalBytesEvictedDueToPreparation;
  } VideoMemory;
  std::uint64_t UseMRU;
  std::uint64_t Reserved[8];
};
static_assert(sizeof(ProcessSegmentInformation) == 216);

}  // namespace tidegate::sim::win
