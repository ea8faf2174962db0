// The one owner of a program's page-locked memory for weights, with a cap.
#pragma once

#include <vector>

#include "src/base/mutex.h"
#include "src/driver/driver.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::store {

// Thread-safe; the card's context is current on the callers' threads. Gives everything back when it is destroyed: the
// card must have finished with it by then.
class PinnedArena {
 public:
  // `cap`: bytes that it may hold at a time.
  PinnedArena(driver::Driver& driver, Bytes cap) : driver_(driver), cap_(cap) {}
  ~PinnedArena();
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;

  // Page-aligned, readable by every context. Errors: kHostOutOfMemory (over the cap, by name, or the system's refusal),
  // kDriver.
  Result<std::byte*> allocate(Bytes bytes);
  void free(std::byte* memory);

  Bytes cap() const { return cap_; }
  Bytes held() const;
  Bytes peak() const;

 private:
  struct Part {
    std::byte* memory;
    Bytes bytes;
  };
  driver::Driver& driver_;
  const Bytes cap_;
  mutable base::Mutex mutex_;  // guards what follows
  std::vector<Part> parts_;
  Bytes held_ = 0;
  Bytes peak_ = 0;
};

}  // namespace tidegate::store
