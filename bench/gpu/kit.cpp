#include "bench/gpu/kit.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "bench/gpu/record.h"
#include "src/base/write_file.h"
#include "tidegate/sim.h"

namespace tidegate::bench {

void stop(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(1);
}

void must(cu::Status status, const char* call) {
  if (status != cu::kSuccess) stop(fmt::format("{}: status {}", call, static_cast<unsigned>(status)));
}

std::unique_ptr<Card> open_measured_card(const std::string& profile) {
  return must(profile.empty() ? open_cuda_card() : sim::open_card(profile));
}

void write_result(const std::string& path, const nlohmann::json& result) {
  if (!path.empty()) must(base::write_file(path, result.dump(2) + "\n"));
}

PinnedWeights::PinnedWeights(Card& card, Bytes bytes) : card_(card), bytes_(bytes) {
  void* memory = nullptr;
  must(card.driver().mem_host_alloc(&memory, bytes, cu::kHostPortable), "cuMemHostAlloc");
  data_ = static_cast<std::byte*>(memory);
  std::vector<std::uint16_t> pattern(2 * kMiB);
  std::uint32_t state = 1;
  for (std::uint16_t& number : pattern) {
    state = state * 1664525U + 1013904223U;  // a full-period generator of 32 bits (Numerical Recipes)
    number = static_cast<std::uint16_t>((state >> 16 & 0x8000U) | 0x3C00U | (state >> 24 & 0x7FU));  // +-0.008 .. 0.016
  }
  const Bytes period = pattern.size() * sizeof(std::uint16_t);
  for (Bytes at = 0; at < bytes; at += period) std::memcpy(data_ + at, pattern.data(), std::min(period, bytes - at));
}

PinnedWeights::~PinnedWeights() { (void)card_.driver().mem_free_host(data_); }

void Marks::mark(cu::Stream stream) {
  if (used_ == events_.size()) {
    cu::Event event = nullptr;
    must(card_.driver().event_create(&event, cu::kEventDefault), "cuEventCreate");
    events_.push_back(event);
  }
  must(card_.driver().event_record(events_[used_++], stream), "cuEventRecord");
}

double Marks::seconds(std::size_t from, std::size_t to) const {
  float milliseconds = 0;
  must(card_.driver().event_elapsed_time(&milliseconds, events_[from], events_[to]), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) / 1000;
}

double raw_link(Card& card, const PinnedWeights& host, Bytes piece, int rounds) {
  DeviceMemory memory(card, host.bytes());
  Stream stream(card);
  Marks marks(card);
  Samples rates;
  for (int round = -1; round < rounds; ++round) {  // the first one wakes the card up
    marks.clear();
    marks.mark(stream.get());
    for (Bytes at = 0; at < host.bytes(); at += piece) {
      must(card.driver().memcpy_htod_async(memory.address() + at, host.data() + at,
                                           std::min<Bytes>(piece, host.bytes() - at), stream.get()),
           "cuMemcpyHtoDAsync");
    }
    marks.mark(stream.get());
    stream.synchronize();
    if (round >= 0) rates.add(static_cast<double>(host.bytes()) / marks.seconds(0, 1));
  }
  return rates.median();
}

}  // namespace tidegate::bench
