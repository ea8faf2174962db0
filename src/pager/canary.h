// The canary: one frame of the smallest size at an address of its own, mapped anew and touched to prove that the
// system's paging queue has done everything that was queued before (wddm-model R-4).
#pragma once

#include <atomic>
#include <cstdint>

#include "src/driver/driver.h"
#include "tidegate/bytes.h"

namespace tidegate::pager {

// Used by one task at a time. Its address range is never given back: the entry of its last mapping could meet the next
// tenant of these addresses.
class Canary {
 public:
  Canary(driver::Driver& driver, int device) : driver_(driver), device_(device) {}
  ~Canary();
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;

  // Takes one frame of `granularity` bytes. kNotReady: call it again.
  cu::Status open(Bytes granularity);
  bool is_open() const { return stream_ != nullptr; }

  // Writes a byte at `address` on the canary's stream: whoever sees mark() passed knows that it is done.
  cu::Status touch(cu::DevicePtr address) { return driver_.memset_d8_async(address, 0, 1, stream_); }
  cu::Status mark();
  // kSuccess: what was touched before the last mark() is done; kNotReady: not yet.
  cu::Status passed() { return driver_.event_query(event_); }

  // Maps the canary anew, touches it and marks. kNotReady: it stands half-way, or what was touched before is not done
  // yet; call it again.
  cu::Status send();

  std::uint64_t mapping_calls() const { return mapping_calls_.load(std::memory_order_relaxed); }  // any thread

 private:
  driver::Driver& driver_;
  int device_;
  Bytes bytes_ = 0;
  cu::Stream stream_ = nullptr;
  cu::Event event_ = nullptr;
  cu::DevicePtr address_ = 0;
  cu::MemHandle handle_ = 0;
  bool mapped_ = false;
  bool accessible_ = false;
  bool marked_ = false;
  std::atomic<std::uint64_t> mapping_calls_{0};
};

}  // namespace tidegate::pager
