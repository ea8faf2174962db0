// Seeded bytes: a function of a key and a position, so that any part of any weight can be made again and checked.
#pragma once

#include <cstdint>
#include <string_view>

#include "tidegate/bytes.h"

namespace tidegate::cli {

// The key of one weight's bytes.
std::uint64_t content_key(std::uint64_t seed, std::string_view model, std::string_view weight);

// Writes the weight's first `bytes` bytes at `out`.
void fill_seeded(void* out, Bytes bytes, std::uint64_t key);

// The same for `bytes` bytes from `offset` on, a multiple of 8; answers their part of the weight's base::checksum,
// computed from the generator and not from memory.
std::uint64_t fill_and_sum(void* out, Bytes bytes, std::uint64_t key, Bytes offset = 0);

}  // namespace tidegate::cli
