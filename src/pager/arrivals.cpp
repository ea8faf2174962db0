#include "src/pager/arrivals.h"

#include "src/pager/insist.h"

namespace tidegate::pager {

Arrivals::~Arrivals() {
  for (const cu::Event event : events_) {
    if (event != nullptr) insist([&] { return driver_.event_destroy(event); });
  }
  if (stream_ != nullptr) insist([&] { return driver_.stream_destroy(stream_); });
}

cu::Status Arrivals::open() { return driver_.stream_create(&stream_, cu::kStreamNonBlocking); }

cu::Status Arrivals::poll_locked() {
  const std::uint64_t issued = issued_.load(std::memory_order_relaxed);
  std::uint64_t done = done_.load(std::memory_order_relaxed);
  if (done == issued) return cu::kSuccess;
  const cu::Status status = driver_.event_query(events_[issued % kMostOutstanding]);
  if (status == cu::kSuccess) {
    done = issued;
  } else {
    while (done + 1 < issued && driver_.event_query(events_[(done + 1) % kMostOutstanding]) == cu::kSuccess) ++done;
  }
  done_.store(done, std::memory_order_release);
  return is_transient(status) ? cu::kSuccess : status;
}

cu::Status Arrivals::poll() {
  const base::Lock lock(mutex_);
  return poll_locked();
}

bool Arrivals::has_room() {
  if (issued_.load(std::memory_order_relaxed) - done() < kMostOutstanding) return true;
  poll();
  return issued_.load(std::memory_order_relaxed) - done() < kMostOutstanding;
}

cu::Status Arrivals::record(std::uint64_t* sequence) {
  const base::Lock lock(mutex_);
  const std::uint64_t next = issued_.load(std::memory_order_relaxed) + 1;
  cu::Event& event = events_[next % kMostOutstanding];
  if (event == nullptr) {
    const cu::Status status = driver_.event_create(&event, cu::kEventDisableTiming);
    if (status != cu::kSuccess) {
      event = nullptr;
      return status;
    }
  }
  const cu::Status status = driver_.event_record(event, stream_);
  if (status != cu::kSuccess) return status;
  issued_.store(next, std::memory_order_release);
  unrecorded_.store(false, std::memory_order_relaxed);
  *sequence = next;
  return cu::kSuccess;
}

cu::Status Arrivals::make_wait(StreamState& waiter, std::uint64_t sequence) {
  if (sequence <= done() || sequence <= waiter.waited.load(std::memory_order_acquire)) return cu::kSuccess;
  const base::Lock lock(mutex_);
  if (sequence <= done_.load(std::memory_order_relaxed)) return cu::kSuccess;
  const cu::Status status = driver_.stream_wait_event(waiter.stream(), events_[sequence % kMostOutstanding], 0);
  if (status != cu::kSuccess) return status;
  std::uint64_t known = waiter.waited.load(std::memory_order_relaxed);
  while (known < sequence && !waiter.waited.compare_exchange_weak(known, sequence, std::memory_order_acq_rel)) {
  }
  return cu::kSuccess;
}

}  // namespace tidegate::pager
