// Element types of tensors, by the names that safetensors files and workflows use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tidegate/bytes.h"

namespace tidegate::store {

enum class Dtype : std::uint8_t {
  kBool,
  kF4,
  kF6E2m3,
  kF6E3m2,
  kU8,
  kI8,
  kF8E5m2,
  kF8E4m3,
  kF8E8m0,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

unsigned bits_of(Dtype dtype);
// "bf16", "f8_e4m3".
std::string_view name_of(Dtype dtype);
// By the name as safetensors writes it, in capitals ("BF16"), or as workflows do, in small letters ("bf16").
std::optional<Dtype> dtype_of_capitals(std::string_view name);
std::optional<Dtype> dtype_of(std::string_view name);

// Bytes of `elements` elements; none where that overflows or is no whole number of bytes.
std::optional<Bytes> bytes_of(Dtype dtype, std::uint64_t elements);

// The product of the dimensions, or none where it overflows. No dimensions: one element.
template <typename Range>
std::optional<std::uint64_t> element_count(const Range& shape) {
  std::uint64_t count = 1;
  bool overflows = false;
  for (const std::uint64_t extent : shape) {
    if (extent == 0) return 0;
    overflows = overflows || count > UINT64_MAX / extent;
    count *= extent;
  }
  if (overflows) return std::nullopt;
  return count;
}

}  // namespace tidegate::store
