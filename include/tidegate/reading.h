// What is known of a card's free memory. Free for all and free for one process are different things and different
// types (invariant I5): nothing converts between them but share::device_free_from, which says how.
#pragma once

#include <cstdint>

#include "tidegate/bytes.h"

namespace tidegate {

// What the card has free, all processes counted.
struct DeviceFree {
  Bytes bytes = 0;
};

// What this process would see free if it were alone: blind to what other processes hold.
struct ProcessFree {
  Bytes bytes = 0;
};

// Whether a reading counts the memory of other processes.
enum class Scope : std::uint8_t { kDevice, kProcess, kUnknown };

// "device", "process", "unknown".
constexpr const char* name_of(Scope scope) {
  return scope == Scope::kDevice ? "device" : scope == Scope::kProcess ? "process" : "unknown";
}

}  // namespace tidegate
