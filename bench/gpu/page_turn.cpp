// The price of a frame: create, map, access, unmap and release by frame size, fresh and recycled; taking and giving
// back 8 GiB; a host-to-device copy of one frame beside it. docs/frames.md draws the conclusion.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/gpu/record.h"
#include "src/base/executor.h"
#include "src/base/write_file.h"
#include "src/driver/driver.h"
#include "tidegate/sim.h"

namespace tidegate::bench {
namespace {

constexpr int kRepeats = 21;
constexpr int kBulkRepeats = 7;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "page_turn: %s\n", why.c_str());
  std::exit(1);
}
void must(cu::Status status, const char* call) {
  if (status != cu::kSuccess) stop(fmt::format("{}: status {}", call, static_cast<unsigned>(status)));
}

class Frames {
 public:
  Frames(Card& card, Bytes frame) : card_(card), frame_(frame) {
    prop_.type = cu::kAllocationPinned;
    prop_.location = {cu::kLocationDevice, card.device()};
    access_ = {prop_.location, cu::kAccessReadWrite};
  }
  void reserve(Bytes bytes) {
    reserved_ = bytes;
    must(driver().mem_address_reserve(&base_, bytes, 0, 0, 0), "cuMemAddressReserve");
  }
  void unreserve() { must(driver().mem_address_free(base_, reserved_), "cuMemAddressFree"); }
  void create(std::size_t slot) {
    if (handles_.size() <= slot) handles_.resize(slot + 1);
    must(driver().mem_create(&handles_[slot], frame_, &prop_, 0), "cuMemCreate");
  }
  void map(std::size_t slot) { must(driver().mem_map(at(slot), frame_, 0, handles_[slot], 0), "cuMemMap"); }
  void allow(std::size_t slot) { must(driver().mem_set_access(at(slot), frame_, &access_, 1), "cuMemSetAccess"); }
  void unmap(std::size_t slot) { must(driver().mem_unmap(at(slot), frame_), "cuMemUnmap"); }
  void release(std::size_t slot) { must(driver().mem_release(handles_[slot]), "cuMemRelease"); }
  cu::DevicePtr at(std::size_t slot) const { return base_ + slot * frame_; }

 private:
  driver::Driver& driver() { return card_.driver(); }

  Card& card_;
  Bytes frame_;
  cu::MemProp prop_{};
  cu::MemAccess access_{};
  cu::DevicePtr base_ = 0;
  Bytes reserved_ = 0;
  std::vector<cu::MemHandle> handles_;
};

// Microseconds that `work` took.
template <typename Work>
double micros(Card& card, Work&& work) {
  const base::Nanos start = card.executor().now();
  work();
  return static_cast<double>(card.executor().now() - start) / 1000;
}

nlohmann::json one_size(Card& card, Bytes frame, Bytes bulk, const void* pinned, cu::Stream stream) {
  Frames frames(card, frame);
  const std::size_t count = bulk / frame;
  frames.reserve(bulk);
  Samples create, map, access, unmap, release, recycled, copy, take, give;
  for (int i = 0; i < kRepeats; ++i) {
    create.add(micros(card, [&] { frames.create(0); }));
    map.add(micros(card, [&] { frames.map(0); }));
    access.add(micros(card, [&] { frames.allow(0); }));
    copy.add(micros(card, [&] {
      must(card.driver().memcpy_htod_async(frames.at(0), pinned, frame, stream), "cuMemcpyHtoDAsync");
      must(card.driver().stream_synchronize(stream), "cuStreamSynchronize");
    }));
    recycled.add(micros(card, [&] {  // the same physical memory at another address
      frames.unmap(0);
      frames.map(0);
      frames.allow(0);
    }));
    unmap.add(micros(card, [&] { frames.unmap(0); }));
    release.add(micros(card, [&] { frames.release(0); }));
  }
  for (int i = 0; i < kBulkRepeats; ++i) {
    take.add(micros(card,
                    [&] {
                      for (std::size_t slot = 0; slot < count; ++slot) {
                        frames.create(slot);
                        frames.map(slot);
                        frames.allow(slot);
                      }
                    }) /
             1000);
    give.add(micros(card,
                    [&] {
                      for (std::size_t slot = 0; slot < count; ++slot) {
                        frames.unmap(slot);
                        frames.release(slot);
                      }
                    }) /
             1000);
  }
  frames.unreserve();
  fmt::print("{:>9} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>10.1f} {:>9.1f} {:>9.2f} {:>9.2f}\n", frame / kMiB,
             create.median(), map.median(), access.median(), unmap.median(), release.median(), recycled.median(),
             copy.median(), take.median(), give.median());
  return {{"frame_bytes", frame},
          {"bulk_bytes", bulk},
          {"create_us", create.json()},
          {"map_us", map.json()},
          {"set_access_us", access.json()},
          {"unmap_us", unmap.json()},
          {"release_us", release.json()},
          {"recycled_us", recycled.json()},
          {"copy_us", copy.json()},
          {"take_bulk_ms", take.json()},
          {"give_back_bulk_ms", give.json()}};
}

int run(int argc, char** argv) {
  CLI::App app("Measures what frames of different sizes cost to take and to give back.");
  std::string profile;
  std::string out;
  app.add_option("--card", profile, "A simulated card's profile; default: the GPU");
  app.add_option("--out", out, "Write JSON here");
  CLI11_PARSE(app, argc, argv);

  auto opened = profile.empty() ? open_cuda_card() : sim::open_card(profile);
  if (!opened) stop(opened.error().message);
  Card& card = **opened;
  nlohmann::json result = provenance(card, "1: page turn");
  const Bytes bulk = std::min<Bytes>(8 * kGiB, round_down(card.total_bytes() / 2, 256 * kMiB));
  constexpr Bytes kLargest = 128 * kMiB;
  void* pinned = nullptr;
  cu::Stream stream = nullptr;
  must(card.driver().mem_host_alloc(&pinned, kLargest, 0), "cuMemHostAlloc");
  must(card.driver().stream_create(&stream, cu::kStreamNonBlocking), "cuStreamCreate");
  fmt::print("{}: {}; medians, microseconds; bulk: {} GiB, milliseconds\n", card.name(),
             result["figures"].get<std::string>(), static_cast<double>(bulk) / static_cast<double>(kGiB));
  fmt::print("{:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>9} {:>9} {:>9}\n", "frame MiB", "create", "map", "access",
             "unmap", "release", "recycled", "copy", "take", "give back");
  for (Bytes frame = 2 * kMiB; frame <= kLargest; frame *= 2) {
    result["sizes"].push_back(one_size(card, frame, bulk, pinned, stream));
  }
  must(card.driver().stream_destroy(stream), "cuStreamDestroy");
  must(card.driver().mem_free_host(pinned), "cuMemFreeHost");
  if (!out.empty()) {
    if (auto written = base::write_file(out, result.dump(2) + "\n"); !written) stop(written.error().message);
  }
  return 0;
}

}  // namespace
}  // namespace tidegate::bench

int main(int argc, char** argv) { return tidegate::bench::run(argc, argv); }
