// Small things that every measurement on a card needs: errors end the program, owners, times.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/base/executor.h"
#include "src/driver/driver.h"
#include "tidegate/card.h"
#include "tidegate/result.h"

namespace tidegate::bench {

// A measurement has nothing to give back that its process's end would not: every failure prints one line and ends it.
[[noreturn]] void stop(const std::string& why);
void must(cu::Status status, const char* call);
inline void must(Result<void> result) {
  if (!result) stop(result.error().message);
}
template <typename T>
T must(Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(result).value();
}

// The GPU, or with a profile's name the simulated card; its context is current on the calling thread.
std::unique_ptr<Card> open_measured_card(const std::string& profile);

// Writes JSON to `path`, or nothing if it is empty.
void write_result(const std::string& path, const nlohmann::json& result);

// Seconds that `work` took by the card's clock (modelled time on a simulated card).
template <typename Work>
double seconds_of(Card& card, Work&& work) {
  const base::Nanos start = card.executor().now();
  work();
  return static_cast<double>(card.executor().now() - start) / 1e9;
}

// Page-locked memory filled with small bf16 numbers (a product of zeros takes less power and runs faster).
class PinnedWeights {
 public:
  PinnedWeights(Card& card, Bytes bytes);
  ~PinnedWeights();
  PinnedWeights(const PinnedWeights&) = delete;
  PinnedWeights& operator=(const PinnedWeights&) = delete;
  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }

 private:
  Card& card_;
  std::byte* data_ = nullptr;
  Bytes bytes_;
};

// Plain device memory.
class DeviceMemory {
 public:
  DeviceMemory(Card& card, Bytes bytes) : card_(card) { must(card.driver().mem_alloc(&address_, bytes), "cuMemAlloc"); }
  ~DeviceMemory() { (void)card_.driver().mem_free(address_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  cu::DevicePtr address() const { return address_; }

 private:
  Card& card_;
  cu::DevicePtr address_ = 0;
};

class Stream {
 public:
  explicit Stream(Card& card) : card_(card) {
    must(card.driver().stream_create(&stream_, cu::kStreamNonBlocking), "cuStreamCreate");
  }
  ~Stream() { (void)card_.driver().stream_destroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cu::Stream get() const { return stream_; }
  void synchronize() { must(card_.driver().stream_synchronize(stream_), "cuStreamSynchronize"); }

 private:
  Card& card_;
  cu::Stream stream_ = nullptr;
};

// Timing events of one stream, read after it was synchronised.
class Marks {
 public:
  explicit Marks(Card& card) : card_(card) {}
  ~Marks() {
    for (cu::Event event : events_) (void)card_.driver().event_destroy(event);
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  void mark(cu::Stream stream);
  std::size_t size() const { return used_; }
  double seconds(std::size_t from, std::size_t to) const;
  void clear() { used_ = 0; }

 private:
  Card& card_;
  std::vector<cu::Event> events_;
  std::size_t used_ = 0;
};

// Host to device from page-locked memory, pieces of `piece` bytes: the median of `rounds`, bytes a second.
double raw_link(Card& card, const PinnedWeights& host, Bytes piece, int rounds = 7);

}  // namespace tidegate::bench
