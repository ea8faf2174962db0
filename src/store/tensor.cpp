#include "src/store/tensor.h"

#include <array>
#include <string>

namespace tidegate::store {
namespace {

struct Entry {
  Dtype dtype;
  std::string_view name;
  unsigned bits;
};

// In the order of the enumeration. Names and sizes: the Dtype of the safetensors crate, 0.6.
constexpr std::array<Entry, 20> kEntries{{
    {Dtype::kBool, "bool", 8},      {Dtype::kF4, "f4", 4},          {Dtype::kF6E2m3, "f6_e2m3", 6},
    {Dtype::kF6E3m2, "f6_e3m2", 6}, {Dtype::kU8, "u8", 8},          {Dtype::kI8, "i8", 8},
    {Dtype::kF8E5m2, "f8_e5m2", 8}, {Dtype::kF8E4m3, "f8_e4m3", 8}, {Dtype::kF8E8m0, "f8_e8m0", 8},
    {Dtype::kI16, "i16", 16},       {Dtype::kU16, "u16", 16},       {Dtype::kF16, "f16", 16},
    {Dtype::kBf16, "bf16", 16},     {Dtype::kI32, "i32", 32},       {Dtype::kU32, "u32", 32},
    {Dtype::kF32, "f32", 32},       {Dtype::kC64, "c64", 64},       {Dtype::kF64, "f64", 64},
    {Dtype::kI64, "i64", 64},       {Dtype::kU64, "u64", 64},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (static_cast<std::size_t>(kEntries[i].dtype) != i) return false;
  }
  return true;
}
static_assert(in_order());

const Entry& entry_of(Dtype dtype) { return kEntries[static_cast<std::size_t>(dtype)]; }

}  // namespace

unsigned bits_of(Dtype dtype) { return entry_of(dtype).bits; }

std::string_view name_of(Dtype dtype) { return entry_of(dtype).name; }

std::optional<Dtype> dtype_of(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

std::optional<Dtype> dtype_of_capitals(std::string_view name) {
  std::string small(name);
  for (char& letter : small) {
    if (letter >= 'a' && letter <= 'z') return std::nullopt;
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return dtype_of(small);
}

std::optional<Bytes> bytes_of(Dtype dtype, std::uint64_t elements) {
  const std::uint64_t bits = bits_of(dtype);
  if (elements > UINT64_MAX / bits || elements * bits % 8 != 0) return std::nullopt;
  return elements * bits / 8;
}

}  // namespace tidegate::store
