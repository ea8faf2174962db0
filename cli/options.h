// What the user asked `tidegate run` for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tidegate/pager.h"

namespace tidegate::cli {

enum class ReadMode {
  kCached,  // into page-locked memory, through the page cache
  kDirect,  // the same, past it where the file system can
  kMapped,  // the file's mapping
  kStream,  // from the file at each use, through a bounded ring, past the page cache where the file system can
};

enum class BytesMode {
  kReal,  // every byte exists, on the host and on the card
  kTags,  // simulated card only: the first 4 KiB of a weight and weights up to 64 KiB exist, the rest are content tags
};

struct RunOptions {
  std::string input;
  std::string card;           // a profile's name or file, "cuda", "cuda:1"; empty: the GPU if there is one
  std::optional<Bytes> vram;  // the pager's budget
  Mode mode = Mode::kDynamic;
  Policy policy = Policy::kScatter;
  std::uint64_t seed = 1;
  ReadMode read = ReadMode::kDirect;
  Bytes ring = 256 * kMiB;  // ReadMode::kStream
  double scale = 1;
  std::optional<BytesMode> bytes;
  std::optional<double> compute_ratio;
  std::optional<double> tflops;
  std::optional<Bytes> host_memory;     // what real bytes may take on the host; none: by what the system has available
  std::optional<std::uint32_t> passes;  // of every step; a safetensors file: kDefaultPasses
  std::uint32_t budget_swings = 0;      // how often the budget falls to its half and rises again
  LeavingOptions leaving{};
  std::string report;
  bool real_time = false;
  bool quiet = false;
};

inline constexpr std::uint32_t kDefaultPasses = 3;

const char* name_of(BytesMode mode);
const char* name_of(ReadMode mode);
const char* name_of(Policy policy);

}  // namespace tidegate::cli
