#include "src/pager/streams.h"

#include "src/pager/insist.h"

namespace tidegate::pager {

namespace {
struct Cached {
  std::uint64_t owner = 0;  // Streams::identity_, never reused, so a stale entry of a dead pager cannot match
  StreamHandle handle = nullptr;
  StreamState* state = nullptr;
};
thread_local Cached tls_stream;
}  // namespace

std::uint64_t Streams::next_identity() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

Streams::~Streams() {
  for (std::size_t i = 0; i < count_.load(); ++i) {
    for (const StreamState::Closing& closing : slots_[i]->closings) {
      if (closing.event != nullptr) insist([&] { return driver_.event_destroy(closing.event); });
    }
  }
}

StreamState* Streams::get(StreamHandle handle) {
  Cached& cached = tls_stream;
  if (cached.owner == identity_ && cached.handle == handle &&
      !cached.state->forgotten.load(std::memory_order_relaxed)) {
    return cached.state;
  }
  const base::Lock lock(mutex_);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  StreamState* found = nullptr;
  for (std::size_t i = count; i-- > 0 && found == nullptr;) {
    if (slots_[i]->handle == handle && !slots_[i]->forgotten.load()) found = slots_[i].get();
  }
  if (found == nullptr) {
    if (count == kMostStreams) return nullptr;
    slots_[count] = std::make_unique<StreamState>(handle, static_cast<std::uint16_t>(count));
    found = slots_[count].get();
    count_.store(count + 1, std::memory_order_release);
  }
  cached = {identity_, handle, found};
  return found;
}

void Streams::poll_locked(StreamState& stream) {
  if (stream.head == stream.tail) return;
  const auto at = [&](std::uint64_t i) -> StreamState::Closing& {
    return stream.closings[i % StreamState::kMostClosings];
  };
  if (driver_.event_query(at(stream.tail - 1).event) == cu::kSuccess) {
    stream.completed.store(at(stream.tail - 1).epoch + 1, std::memory_order_release);
    stream.head = stream.tail;
    return;
  }
  while (stream.head + 1 < stream.tail && driver_.event_query(at(stream.head).event) == cu::kSuccess) {
    stream.completed.store(at(stream.head).epoch + 1, std::memory_order_release);
    ++stream.head;
  }
}

void Streams::poll(StreamState& stream) {
  const base::Lock lock(stream.mutex);
  poll_locked(stream);
}

void Streams::poll_all() {
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) poll(*slots_[i]);
}

cu::Status Streams::close_locked(StreamState& stream) {
  if (stream.tail - stream.head == StreamState::kMostClosings) {
    poll_locked(stream);
    if (stream.tail - stream.head == StreamState::kMostClosings) return cu::kNotReady;
  }
  StreamState::Closing& closing = stream.closings[stream.tail % StreamState::kMostClosings];
  if (closing.event == nullptr) {
    const cu::Status status = driver_.event_create(&closing.event, cu::kEventDisableTiming);
    if (status != cu::kSuccess) {
      closing.event = nullptr;
      return status;
    }
  }
  // The epoch ends before its event is recorded: whoever still reads the old epoch has submitted his work already.
  closing.epoch = stream.epoch.fetch_add(1, std::memory_order_acq_rel);
  stream.releases.store(0, std::memory_order_relaxed);
  const cu::Status status = driver_.event_record(closing.event, stream.stream());
  if (status == cu::kSuccess) ++stream.tail;  // else the next closing covers this epoch too
  return status;
}

cu::Status Streams::close(StreamState& stream) {
  const base::Lock lock(stream.mutex);
  return close_locked(stream);
}

cu::Status Streams::close_from_outside(StreamState& stream) {
  const base::Lock lock(stream.mutex);
  if (stream.forgotten.load()) return cu::kNotReady;
  cu::CaptureStatus capture = cu::kCaptureNone;
  const cu::Status status = driver_.stream_is_capturing(stream.stream(), &capture);
  if (status != cu::kSuccess) return status;
  return capture == cu::kCaptureNone ? close_locked(stream) : cu::kNotReady;
}

void Streams::close_if_open(Use use) {
  StreamState& stream = *slots_[use.slot];
  bool recorded = complete(use);
  if (!recorded) {
    const base::Lock lock(stream.mutex);
    recorded =
        stream.tail > stream.head && stream.closings[(stream.tail - 1) % StreamState::kMostClosings].epoch >= use.epoch;
  }
  if (!recorded) close_from_outside(stream);
}

bool Streams::complete(const UseSet& uses) const {
  bool all = true;
  uses.for_each([&](Use use) { all = all && complete(use); });
  return all;
}

cu::Status Streams::wait_on(cu::Stream waiter, Use use) {
  StreamState& stream = *slots_[use.slot];
  if (complete(use)) return cu::kSuccess;
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      const base::Lock lock(stream.mutex);
      for (std::uint64_t i = stream.head; i < stream.tail; ++i) {
        const StreamState::Closing& closing = stream.closings[i % StreamState::kMostClosings];
        if (closing.epoch >= use.epoch) return driver_.stream_wait_event(waiter, closing.event, 0);
      }
      if (stream.completed.load() > use.epoch) return cu::kSuccess;
    }
    const cu::Status status = close_from_outside(stream);
    if (status != cu::kSuccess) return status;
  }
  return cu::kNotReady;
}

cu::Status Streams::forget(StreamHandle handle) {
  StreamState* found = nullptr;
  {
    const base::Lock lock(mutex_);
    for (std::size_t i = 0; i < count_.load() && found == nullptr; ++i) {
      if (slots_[i]->handle == handle && !slots_[i]->forgotten.load()) found = slots_[i].get();
    }
  }
  if (found == nullptr) return cu::kSuccess;
  const base::Lock lock(found->mutex);
  cu::Status status = insist([&] { return close_locked(*found); });
  if (status != cu::kSuccess) {
    // Nobody can record on it any more: its uses would never be known to be over.
    status = insist([&] { return driver_.stream_synchronize(found->stream()); });
    if (status == cu::kSuccess) {
      found->completed.store(found->epoch.fetch_add(1, std::memory_order_acq_rel) + 1, std::memory_order_release);
      found->head = found->tail;
    }
  }
  found->forgotten.store(true);
  return status;
}

void Streams::drain() {
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    StreamState& stream = *slots_[i];
    cu::Status closed = cu::kSuccess;
    if (!stream.forgotten.load() && (stream.epoch.load() > 1 || stream.releases.load() > 0)) {
      closed = insist([&] { return close_from_outside(stream); });
    }
    cu::CaptureStatus capture = cu::kCaptureNone;
    if (closed != cu::kSuccess &&
        insist([&] { return driver_.stream_is_capturing(stream.stream(), &capture); }) == cu::kSuccess &&
        capture == cu::kCaptureNone) {
      insist([&] { return driver_.stream_synchronize(stream.stream()); });
    }
    cu::Event last = nullptr;
    {
      const base::Lock lock(stream.mutex);
      if (stream.tail > stream.head) last = stream.closings[(stream.tail - 1) % StreamState::kMostClosings].event;
    }
    if (last != nullptr) insist([&] { return driver_.event_synchronize(last); });
    poll(stream);
  }
}

bool Streams::silent() {
  bool silent = true;
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    StreamState& stream = *slots_[i];
    if (stream.releases.load(std::memory_order_relaxed) > 0) close_from_outside(stream);
    silent = silent && stream.releases.load(std::memory_order_relaxed) == 0 &&
             stream.completed.load(std::memory_order_acquire) == stream.epoch.load(std::memory_order_acquire);
  }
  return silent;
}

void Streams::all_complete() {
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    StreamState& stream = *slots_[i];
    const base::Lock lock(stream.mutex);
    const std::uint64_t open = stream.epoch.fetch_add(1, std::memory_order_acq_rel);
    stream.completed.store(open + 1, std::memory_order_release);
    stream.head = stream.tail;
  }
}

}  // namespace tidegate::pager
