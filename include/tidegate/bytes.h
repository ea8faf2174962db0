// Byte counts. Every size in Tidegate's public interface is a count of bytes in this type.
#pragma once

#include <cstdint>

namespace tidegate {

using Bytes = std::uint64_t;

inline constexpr Bytes kKiB = Bytes{1} << 10;
inline constexpr Bytes kMiB = Bytes{1} << 20;
inline constexpr Bytes kGiB = Bytes{1} << 30;

constexpr Bytes round_up(Bytes value, Bytes grain) { return (value + grain - 1) / grain * grain; }
constexpr Bytes round_down(Bytes value, Bytes grain) { return value / grain * grain; }

}  // namespace tidegate
