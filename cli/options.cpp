#include "cli/options.h"

namespace tidegate::cli {

const char* name_of(BytesMode mode) { return mode == BytesMode::kReal ? "real" : "tags"; }

const char* name_of(ReadMode mode) {
  switch (mode) {
    case ReadMode::kCached:
      return "cached";
    case ReadMode::kDirect:
      return "direct";
    case ReadMode::kMapped:
      return "mmap";
    case ReadMode::kStream:
      return "stream";
  }
  return "unknown";
}

const char* name_of(Policy policy) {
  switch (policy) {
    case Policy::kScatter:
      return "scatter";
    case Policy::kTail:
      return "tail";
    case Policy::kLru:
      return "lru";
  }
  return "unknown";
}

}  // namespace tidegate::cli
