// The copy stream and the sequence of copies on it: one event after each block's copy, numbered in order.
#pragma once

#include <array>
#include <atomic>

#include "src/base/mutex.h"
#include "src/driver/driver.h"
#include "src/pager/streams.h"

namespace tidegate::pager {

// Copies are issued by one task at a time (under the pager's lock); any thread may wait for one.
class Arrivals {
 public:
  static constexpr std::uint64_t kMostOutstanding = 512;

  explicit Arrivals(driver::Driver& driver) : driver_(driver) {}
  ~Arrivals();
  cu::Status open();

  cu::Stream stream() const { return stream_; }
  std::uint64_t issued() const { return issued_.load(std::memory_order_acquire); }
  // Copies up to this one are known to have arrived.
  std::uint64_t done() const { return done_.load(std::memory_order_acquire); }

  // Whether one more may be recorded now; looks which have arrived if need be.
  bool has_room();
  // Records what was submitted to stream() since the last record as one copy. Only after has_room() said so.
  cu::Status record(std::uint64_t* sequence);
  // Looks which have arrived; any status but success is the driver's final word.
  cu::Status poll();
  // Something was submitted to stream() that record() did not cover: the next record does.
  void note_unrecorded() { unrecorded_.store(true, std::memory_order_relaxed); }
  bool unrecorded() const { return unrecorded_.load(std::memory_order_relaxed); }
  // Makes the stream wait for the copy, unless it is known to have arrived or was waited for already.
  cu::Status make_wait(StreamState& waiter, std::uint64_t sequence);

 private:
  cu::Status poll_locked();

  driver::Driver& driver_;
  cu::Stream stream_ = nullptr;
  std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> unrecorded_{false};
  // An event is recorded again only when its copy is known to have arrived: a waiter that took the newer record for
  // its own could wait for a copy that waits for it.
  base::Mutex mutex_;
  std::array<cu::Event, kMostOutstanding> events_{};
};

}  // namespace tidegate::pager
