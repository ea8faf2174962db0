#include "cli/seeded.h"

#include <cstring>

#include "src/base/checksum.h"

namespace tidegate::cli {
namespace {

// Word `index` (from 0). One multiplication less than mix64: this is the slowest loop of a run with real bytes.
constexpr std::uint64_t word_at(std::uint64_t key, std::uint64_t index) {
  std::uint64_t x = (key + index) * base::kGolden;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;  // the constant of base::mix64
  return x ^ (x >> 29);
}

template <typename Visit>
void generate(void* out, Bytes bytes, std::uint64_t key, std::uint64_t index, Visit&& visit) {
  auto* to = static_cast<unsigned char*>(out);
  for (; bytes >= 8; bytes -= 8, to += 8, ++index) {
    const std::uint64_t word = word_at(key, index);
    std::memcpy(to, &word, 8);
    visit(word, index);
  }
  if (bytes > 0) {
    const std::uint64_t word = word_at(key, index) & ((std::uint64_t{1} << (8 * bytes)) - 1);
    std::memcpy(to, &word, bytes);
    visit(word, index);
  }
}

// FNV-1a: 64-bit offset basis and prime.
std::uint64_t hash(std::uint64_t state, std::string_view text) {
  for (const char letter : text) state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001B3ull;
  return state;
}

}  // namespace

std::uint64_t content_key(std::uint64_t seed, std::string_view model, std::string_view weight) {
  const std::uint64_t named = hash(hash(hash(0xCBF29CE484222325ull, model), std::string_view("\0", 1)), weight);
  return base::mix64(named + base::mix64(seed + base::kGolden));
}

void fill_seeded(void* out, Bytes bytes, std::uint64_t key) {
  generate(out, bytes, key, 0, [](std::uint64_t, std::uint64_t) {});
}

std::uint64_t fill_and_sum(void* out, Bytes bytes, std::uint64_t key, Bytes offset) {
  std::uint64_t sum = 0;
  generate(out, bytes, key, offset / 8,
           [&](std::uint64_t word, std::uint64_t index) { sum += base::mix64(word + (index + 1) * base::kGolden); });
  return sum;
}

}  // namespace tidegate::cli
