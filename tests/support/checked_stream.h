// Streams of one caller on which every use of a weight leaves a checksum that is compared later.
#pragma once

#include <string>
#include <vector>

#include "src/driver/kernels.h"
#include "tests/support/seeded_model.h"

namespace tidegate::testkit {

// Not thread-safe. Works on a driver that does not fail. `context` must be current wherever it is used.
class CheckedStreams {
 public:
  CheckedStreams(driver::Driver& driver, const driver::CheckKernels& kernels, std::size_t streams,
                 std::size_t slots = 256)
      : driver_(driver), kernels_(kernels), expected_(slots) {
    for (std::size_t i = 0; i < streams; ++i) streams_.push_back(make());
    (void)driver_.mem_alloc(&out_, 8 * slots);
    clear();
  }
  ~CheckedStreams() {
    for (const cu::Stream stream : streams_) (void)driver_.stream_synchronize(stream);
    (void)driver_.mem_free(out_);
    for (const cu::Stream stream : streams_) (void)driver_.stream_destroy(stream);
  }
  CheckedStreams(const CheckedStreams&) = delete;
  CheckedStreams& operator=(const CheckedStreams&) = delete;

  cu::Stream stream(std::size_t index) const { return streams_[index]; }
  std::size_t count() const { return streams_.size(); }
  std::uint64_t checked() const { return checked_; }

  // Queues the checksum of a weight that lies at `address`. Answers an error's text, else "".
  std::string use(std::size_t stream, DeviceAddress address, const SeededWeight& weight) {
    std::string error;
    if (used_ == expected_.size()) error = verify();
    expected_[used_] = weight.sum;
    const cu::Status status =
        kernels_.launch_checksum(driver_, address, weight.bytes, out_ + 8 * used_, streams_[stream]);
    ++used_;
    if (status != cu::kSuccess) return "launching a checksum: status " + std::to_string(status);
    return error;
  }
  // Keeps the stream busy with a kernel that uses the range.
  void work(std::size_t stream, DeviceAddress address, Bytes bytes, std::uint64_t nanoseconds) {
    (void)kernels_.launch_work(driver_, address, bytes, nanoseconds, streams_[stream]);
  }

  // Waits for all of it and compares. Answers the first difference, else "".
  std::string verify() {
    for (const cu::Stream stream : streams_) {
      if (const cu::Status status = driver_.stream_synchronize(stream); status != cu::kSuccess) {
        return "synchronising a stream: status " + std::to_string(status);
      }
    }
    std::vector<std::uint64_t> sums(used_ + 1);
    (void)driver_.memcpy_dtoh_async(sums.data(), out_, 8 * used_, streams_[0]);
    (void)driver_.stream_synchronize(streams_[0]);
    std::string error;
    for (std::size_t i = 0; i < used_ && error.empty(); ++i) {
      if (sums[i] != expected_[i])
        error = "I9: use " + std::to_string(checked_ + i) + " read other bytes than its source's";
    }
    checked_ += used_;
    clear();
    return error;
  }

  // Destroys a stream without waiting for it, and puts a new one in its place that is ordered after it.
  void replace(std::size_t index) {
    cu::Event event = nullptr;
    (void)driver_.event_create(&event, cu::kEventDisableTiming);
    (void)driver_.event_record(event, streams_[index]);
    const cu::Stream fresh = make();
    (void)driver_.stream_wait_event(fresh, event, 0);
    (void)driver_.stream_destroy(streams_[index]);
    (void)driver_.event_destroy(event);
    streams_[index] = fresh;
  }

 private:
  cu::Stream make() {
    cu::Stream made = nullptr;
    (void)driver_.stream_create(&made, cu::kStreamNonBlocking);
    return made;
  }
  void clear() {
    (void)driver_.memset_d8_async(out_, 0, 8 * expected_.size(), streams_[0]);
    (void)driver_.stream_synchronize(streams_[0]);
    used_ = 0;
  }

  driver::Driver& driver_;
  driver::CheckKernels kernels_;
  std::vector<cu::Stream> streams_;
  cu::DevicePtr out_ = 0;
  std::vector<std::uint64_t> expected_;
  std::size_t used_ = 0;
  std::uint64_t checked_ = 0;
};

}  // namespace tidegate::testkit
