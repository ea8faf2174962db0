// The content checksum: position-dependent, order-free, so that a GPU may sum it in any order.
//
// checksum(p, n) = sum over i of mix(word_i + (i + 1) * kGolden) modulo 2^64, with word_i the i-th little-endian 64-bit
// word and the last one padded with zero bytes. Three implementations must agree: this one, the PTX kernel
// tidegate_checksum (src/driver/kernels.ptx.h) and the simulated card's kernel of the same name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tidegate::base {

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio (Weyl sequence step)

// A bijective 64-bit mixer: xor-shift and multiply, twice (the constant is the one of degski's published mixer).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  x ^= x >> 32;
  return x;
}

// `first_word`: index of the first word, so that a range may be summed in 8-byte aligned pieces.
inline std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t first_word = 0) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint64_t sum = 0;
  std::uint64_t index = first_word;
  while (bytes >= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    sum += mix64(word + ++index * kGolden);
    p += 8;
    bytes -= 8;
  }
  if (bytes > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, bytes);
    sum += mix64(word + ++index * kGolden);
  }
  return sum;
}

// splitmix64: the seeded generator behind every random choice and every seeded byte.
struct Random {
  std::uint64_t state;
  explicit constexpr Random(std::uint64_t seed) : state(seed) {}
  constexpr std::uint64_t next() {
    std::uint64_t z = (state += kGolden);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  constexpr std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
};

}  // namespace tidegate::base
