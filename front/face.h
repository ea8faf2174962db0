// How an exported function of the driver's is written: under its own name, visible, and never inlined or folded.
//
// The files with faces are compiled with 32 bytes of no-ops at each function's entry (front/CMakeLists.txt), so that
// anybody's hook finds room for its jump and each function is longer than that.
#pragma once

#include "front/front.h"

#define TG_FACE extern "C" TG_FRONT_API __attribute__((used, noinline))

namespace tidegate::front {

// What the _ptds and _ptsz flavours make of the null stream: CU_STREAM_PER_THREAD.
inline cu::Stream own(cu::Stream stream) {
  return stream != nullptr ? stream : reinterpret_cast<cu::Stream>(std::uintptr_t{2});  // NOLINT: a number by interface
}

}  // namespace tidegate::front
