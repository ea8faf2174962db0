#include "src/store/pinned_arena.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/driver/errors.h"

namespace tidegate::store {

PinnedArena::~PinnedArena() {
  for (const Part& part : parts_) (void)driver_.mem_free_host(part.memory);
}

Result<std::byte*> PinnedArena::allocate(Bytes bytes) {
  {
    const base::Lock lock(mutex_);
    if (bytes > cap_ || held_ > cap_ - bytes) {
      return Error{Errc::kHostOutOfMemory,
                   fmt::format("{} bytes of page-locked host memory are asked for, {} of at most {} are in use: raise "
                               "the cap, or read through a smaller ring",
                               bytes, held_, cap_)};
    }
    held_ += bytes;  // taken before the driver is asked, so that two callers cannot pass the cap together
    peak_ = std::max(peak_, held_);
  }
  void* memory = nullptr;
  const cu::Status status = driver_.mem_host_alloc(&memory, bytes, cu::kHostPortable);
  const base::Lock lock(mutex_);
  if (status != cu::kSuccess) {
    held_ -= bytes;
    Error error = driver::driver_error(driver_, status, "cuMemHostAlloc for weights");
    if (status == cu::kOutOfMemory) error.code = Errc::kHostOutOfMemory;
    return error;
  }
  parts_.push_back({static_cast<std::byte*>(memory), bytes});
  return parts_.back().memory;
}

void PinnedArena::free(std::byte* memory) {
  {
    const base::Lock lock(mutex_);
    const auto found =
        std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.memory == memory; });
    if (found == parts_.end()) return;
    held_ -= found->bytes;
    parts_.erase(found);
  }
  (void)driver_.mem_free_host(memory);
}

Bytes PinnedArena::held() const {
  const base::Lock lock(mutex_);
  return held_;
}

Bytes PinnedArena::peak() const {
  const base::Lock lock(mutex_);
  return peak_;
}

}  // namespace tidegate::store
