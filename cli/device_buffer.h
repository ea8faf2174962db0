// Small owners for what a run takes of a driver besides the pager.
#pragma once

#include <utility>
#include <vector>

#include "src/driver/driver.h"
#include "src/driver/errors.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::cli {

// Turns a status into a Result, naming the call.
inline Result<void> checked(driver::Driver& driver, driver::Status status, const char* what) {
  if (status == driver::kSuccess) return {};
  return driver::driver_error(driver, status, what);
}

class DeviceBuffer {
 public:
  explicit DeviceBuffer(driver::Driver& driver) : driver_(driver) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (address_ != 0) (void)driver_.mem_free(address_);
  }
  Result<void> allocate(Bytes bytes) { return checked(driver_, driver_.mem_alloc(&address_, bytes), "cuMemAlloc"); }
  driver::DevicePtr address() const { return address_; }

 private:
  driver::Driver& driver_;
  driver::DevicePtr address_ = 0;
};

class PinnedBuffer {
 public:
  explicit PinnedBuffer(driver::Driver& driver) : driver_(driver) {}
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() {
    if (data_ != nullptr) (void)driver_.mem_free_host(data_);
  }
  Result<void> allocate(Bytes bytes) {
    return checked(driver_, driver_.mem_host_alloc(&data_, bytes, driver::kHostPortable), "cuMemHostAlloc");
  }
  void* data() const { return data_; }

 private:
  driver::Driver& driver_;
  void* data_ = nullptr;
};

class OwnedStream {
 public:
  explicit OwnedStream(driver::Driver& driver) : driver_(driver) {}
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() {
    if (stream_ != nullptr) (void)driver_.stream_destroy(stream_);
  }
  Result<void> create() {
    return checked(driver_, driver_.stream_create(&stream_, driver::kStreamNonBlocking), "cuStreamCreate");
  }
  driver::Stream get() const { return stream_; }
  Result<void> synchronize() { return checked(driver_, driver_.stream_synchronize(stream_), "cuStreamSynchronize"); }

 private:
  driver::Driver& driver_;
  driver::Stream stream_ = nullptr;
};

// Timing events, made once and used again.
class EventPool {
 public:
  explicit EventPool(driver::Driver& driver) : driver_(driver) {}
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;
  ~EventPool() {
    for (driver::Event event : events_) (void)driver_.event_destroy(event);
  }
  Result<void> grow(std::size_t count) {
    while (events_.size() < count) {
      driver::Event event = nullptr;
      if (auto made = checked(driver_, driver_.event_create(&event, driver::kEventDefault), "cuEventCreate"); !made) {
        return made;
      }
      events_.push_back(event);
    }
    return {};
  }
  driver::Event operator[](std::size_t index) const { return events_[index]; }

  Result<void> record(std::size_t index, driver::Stream stream) {
    return checked(driver_, driver_.event_record(events_[index], stream), "cuEventRecord");
  }
  // Both must have passed.
  Result<double> seconds_between(std::size_t from, std::size_t to) {
    float milliseconds = 0;
    const auto status = driver_.event_elapsed_time(&milliseconds, events_[from], events_[to]);
    if (status != driver::kSuccess) return driver::driver_error(driver_, status, "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  driver::Driver& driver_;
  std::vector<driver::Event> events_;
};

}  // namespace tidegate::cli
