// Layouts and numbers of two interfaces of Windows: what DXGI and the kernel thunks (D3DKMT) answer about video memory.
//
// Facts of the x64 interfaces, written down in our own words; offsets are held by assertions. The names are Windows',
// in our spelling.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidegate::win {

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
  std::uint64_t budget;
  std::uint64_t current_usage;
  std::uint64_t available_for_reservation;
  std::uint64_t current_reservation;
};
static_assert(sizeof(QueryVideoMemoryInfo) == 32);

struct Luid {
  std::uint32_t low_part;
  std::int32_t high_part;
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
  StatisticsType type;
  Luid adapter_luid;
  std::uint64_t process;
  alignas(8) unsigned char result[0x308];
  std::uint32_t selector;  // SegmentId, SegmentGroup or NodeId
};
static_assert(sizeof(QueryStatistics) == 0x328);
static_assert(offsetof(QueryStatistics, adapter_luid) == 4);
static_assert(offsetof(QueryStatistics, process) == 16);
static_assert(offsetof(QueryStatistics, result) == 24);
static_assert(offsetof(QueryStatistics, selector) == 800);

struct SegmentInformation {
  std::uint64_t commit_limit;
  std::uint64_t bytes_committed;
  std::uint64_t bytes_resident;
  struct {
    std::uint64_t total_bytes_evicted;
    std::uint32_t allocs_committed;
    std::uint32_t allocs_resident;
  } memory;
  std::uint32_t aperture;
  std::uint64_t total_bytes_evicted_by_priority[5];
  std::uint64_t system_memory_end_address;
  std::uint64_t power_flags;
  std::uint64_t segment_properties;
  std::uint64_t reserved[5];
};
static_assert(sizeof(SegmentInformation) == 152);
static_assert(offsetof(SegmentInformation, aperture) == 40);
static_assert(offsetof(SegmentInformation, total_bytes_evicted_by_priority) == 48);

struct ProcessSegmentGroupInformation {
  std::uint64_t budget;
  std::uint64_t requested;  // undocumented; here usage and demoted
  std::uint64_t usage;
  std::uint64_t demoted[5];  // by priority class, Min ... Max
};
static_assert(sizeof(ProcessSegmentGroupInformation) == 64);

struct CountAndBytes {
  std::uint32_t count;
  std::uint64_t bytes;
};

struct ProcessSegmentInformation {
  std::uint64_t bytes_committed;
  std::uint64_t maximum_working_set;
  std::uint64_t minimum_working_set;
  std::uint32_t nb_referenced_allocation_evicted_in_period;
  std::uint32_t padding;
  struct {
    std::uint32_t allocs_committed;
    CountAndBytes allocs_resident_in_p[5];
    CountAndBytes allocs_resident_in_non_preferred;
    std::uint64_t total_bytes_evicted_due_to_preparation;
  } video_memory;
  std::uint64_t use_mru;
  std::uint64_t reserved[8];
};
static_assert(sizeof(ProcessSegmentInformation) == 216);

}  // namespace tidegate::win
