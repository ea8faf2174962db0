// What a call on the simulated card costs with many allocations on the residency list: linux beside wddm.
//
// Submission must not grow with the list (a device whose memory is all resident is not walked), nor may mapping.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/machine.h"
#include "src/base/virtual_executor.h"

namespace tidegate {
namespace {

constexpr Bytes kFrame = 2 * kMiB;

void must(cu::Status status) {
  if (status == cu::kSuccess) return;
  std::fprintf(stderr, "windows_bench: status %u\n", static_cast<unsigned>(status));
  std::exit(1);
}

// A process with `frames` frames mapped side by side, all touched.
class World {
 public:
  World(const char* profile, std::size_t frames) : machine_(executor_, 1) {
    machine_.add_card(sim::load_profile(profile).value());
    driver_ = &machine_.start_process("bench").driver();
    cu::Context context = nullptr;
    must(driver_->init(0));
    must(driver_->device_primary_ctx_retain(&context, 0));
    must(driver_->ctx_set_current(context));
    must(driver_->stream_create(&stream_, cu::kStreamNonBlocking));
    must(driver_->mem_address_reserve(&base_, (frames + 1) * kFrame, 0, 0, 0));
    for (std::size_t i = 0; i < frames; ++i) map(i);
    must(driver_->memset_d8_async(base_, 0, frames * kFrame, stream_));
    must(driver_->stream_synchronize(stream_));
  }

  cu::MemHandle map(std::size_t index) {
    const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
    const cu::MemAccess access{{cu::kLocationDevice, 0}, cu::kAccessReadWrite};
    const cu::DevicePtr at = base_ + index * kFrame;
    cu::MemHandle handle = 0;
    must(driver_->mem_create(&handle, kFrame, &prop, 0));
    must(driver_->mem_map(at, kFrame, 0, handle, 0));
    must(driver_->mem_set_access(at, kFrame, &access, 1));
    return handle;
  }
  void submit(std::size_t index) {
    must(driver_->memset_d8_async(base_ + index * kFrame, 1, 4, stream_));
    must(driver_->stream_synchronize(stream_));
  }
  void cycle(std::size_t index) {
    const cu::MemHandle handle = map(index);
    submit(index);
    must(driver_->mem_unmap(base_ + index * kFrame, kFrame));
    must(driver_->mem_release(handle));
  }

 private:
  base::VirtualExecutor executor_{1};
  sim::Machine machine_;
  driver::Driver* driver_ = nullptr;
  cu::Stream stream_ = nullptr;
  cu::DevicePtr base_ = 0;
};

void submission(benchmark::State& state, const char* profile) {
  const auto frames = static_cast<std::size_t>(state.range(0));
  World world(profile, frames);
  std::size_t next = 0;
  for (auto _ : state) world.submit(next++ % frames);
}

void mapping(benchmark::State& state, const char* profile) {
  const auto frames = static_cast<std::size_t>(state.range(0));
  World world(profile, frames);
  for (auto _ : state) world.cycle(frames);
}

BENCHMARK_CAPTURE(submission, linux, "rtx3050-6g-linux")->Arg(20)->Arg(200)->Arg(2000);
BENCHMARK_CAPTURE(submission, wddm, "rtx3050-6g-wddm")->Arg(20)->Arg(200)->Arg(2000);
BENCHMARK_CAPTURE(mapping, linux, "rtx3050-6g-linux")->Arg(20)->Arg(200)->Arg(2000);
BENCHMARK_CAPTURE(mapping, wddm, "rtx3050-6g-wddm")->Arg(20)->Arg(200)->Arg(2000);

}  // namespace
}  // namespace tidegate

BENCHMARK_MAIN();
