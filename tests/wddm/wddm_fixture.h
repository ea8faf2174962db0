// Programs on one simulated card under Windows, each a process of its own, on the virtual clock.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "sim/wddm_control.h"
#include "sim/windows_answers.h"
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {

// Host address space that is never read: what is copied from it is a tag, so that gibibytes cost nothing.
inline const void* contents() { return reinterpret_cast<const void*>(std::uintptr_t{1} << 46); }  // NOLINT

// A process with a context and a stream, driven in the words of the measurements: grow, read, look at what is free.
class Program {
 public:
  Program(Machine& machine, const std::string& name) : process_(machine.start_process(name)) {
    EXPECT_OK(cuda().init(0));
    EXPECT_OK(cuda().device_primary_ctx_retain(&context_, 0));
    enter();
    EXPECT_OK(cuda().stream_create(&stream_, cu::kStreamNonBlocking));
  }

  Process& process() { return process_; }
  driver::Driver& cuda() { return process_.driver(); }
  cu::Stream stream() const { return stream_; }
  // Makes its context the calling activity's.
  void enter() { EXPECT_OK(cuda().ctx_set_current(context_)); }

  struct Frame {
    cu::DevicePtr va = 0;
    cu::MemHandle handle = 0;
    Bytes bytes = 0;
  };
  // Physical memory mapped at `va`, or at addresses of its own; not touched.
  Frame map(Bytes bytes, cu::DevicePtr va = 0) {
    Frame frame{va, 0, bytes};
    const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
    if (va == 0) {
      EXPECT_OK(cuda().mem_address_reserve(&frame.va, bytes, 0, 0, 0));
    }
    EXPECT_OK(cuda().mem_create(&frame.handle, bytes, &prop, 0));
    EXPECT_OK(cuda().mem_map(frame.va, bytes, 0, frame.handle, 0));
    while (set_access(frame) == cu::kNotReady) ++not_ready_;
    return frame;
  }
  cu::Status set_access(const Frame& frame) {
    const cu::MemAccess access{{cu::kLocationDevice, 0}, cu::kAccessReadWrite};
    return cuda().mem_set_access(frame.va, frame.bytes, &access, 1);
  }
  void unmap(const Frame& frame) {
    EXPECT_OK(cuda().mem_unmap(frame.va, frame.bytes));
    EXPECT_OK(cuda().mem_release(frame.handle));
  }
  // Work on the first bytes; on return it is known to be done.
  void touch(cu::DevicePtr va) {
    submit(va);
    EXPECT_OK(cuda().stream_synchronize(stream_));
  }
  void submit(cu::DevicePtr va) {
    enter();
    EXPECT_OK(cuda().memset_d8_async(va, 1, 4, stream_));
  }
  unsigned not_ready() const { return not_ready_; }

  // Allocates and does not touch.
  cu::DevicePtr take(Bytes bytes) {
    cu::DevicePtr ptr = 0;
    EXPECT_OK(cuda().mem_alloc(&ptr, bytes));
    return ptr;
  }
  // Allocates and fills, in parts of at most 1 GiB as a caching allocator would.
  void grow(Bytes bytes) {
    while (bytes > 0) {
      const Bytes part = std::min(bytes, kGiB);
      const cu::DevicePtr ptr = take(part);
      enter();
      EXPECT_OK(cuda().memcpy_htod_async(ptr, contents(), part, stream_));
      EXPECT_OK(cuda().stream_synchronize(stream_));
      held_.push_back({ptr, part});
      bytes -= part;
    }
  }
  // Reads all that it grew; answers 10^9 bytes per second.
  double pass_gb_per_s() {
    enter();
    if (kernels_.module == nullptr) {
      kernels_ = driver::CheckKernels::load(cuda()).value();
      sum_ = take(8);
      EXPECT_OK(cuda().memset_d8_async(sum_, 0, 8, stream_));
      EXPECT_OK(cuda().stream_synchronize(stream_));
      EXPECT_OK(cuda().event_create(&begin_, 0));
      EXPECT_OK(cuda().event_create(&end_, 0));
    }
    Bytes bytes = 0;
    EXPECT_OK(cuda().event_record(begin_, stream_));
    for (const auto& [ptr, size] : held_) {
      EXPECT_OK(kernels_.launch_checksum(cuda(), ptr, size, sum_, stream_));
      bytes += size;
    }
    EXPECT_OK(cuda().event_record(end_, stream_));
    EXPECT_OK(cuda().event_synchronize(end_));
    float milliseconds = 0;
    EXPECT_OK(cuda().event_elapsed_time(&milliseconds, begin_, end_));
    return static_cast<double>(bytes) / 1e6 / static_cast<double>(milliseconds);
  }

  // MiB, as the reports print them.
  double free_mib() {
    enter();
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_OK(cuda().mem_get_info(&free, &total));
    return static_cast<double>(free) / static_cast<double>(kMiB);
  }
  double nvml_free_mib() {
    driver::Nvml& nvml = process_.nvml();
    nvml::Device device = nullptr;
    nvml::Memory memory{};
    EXPECT_EQ(nvml.init(), nvml::kSuccess);
    EXPECT_EQ(nvml.device_get_handle_by_index(0, &device), nvml::kSuccess);
    EXPECT_EQ(nvml.device_get_memory_info(device, &memory), nvml::kSuccess);
    return static_cast<double>(memory.free) / static_cast<double>(kMiB);
  }

 private:
  Process& process_;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  std::vector<std::pair<cu::DevicePtr, Bytes>> held_;
  driver::CheckKernels kernels_;
  cu::DevicePtr sum_ = 0;
  cu::Event begin_ = nullptr;
  cu::Event end_ = nullptr;
  unsigned not_ready_ = 0;
};

// A card of Windows; the profile may be changed before the world begins.
class WindowsWorld {
 public:
  explicit WindowsWorld(Profile profile, std::uint64_t seed = 1, MachineOptions options = {})
      : executor_(seed), machine_(executor_, seed, options) {
    machine_.add_card(profile);
    EXPECT_TRUE(machine_.declare_tagged_host(contents(), kGiB, 1));
  }

  Machine& machine() { return machine_; }
  base::VirtualExecutor& executor() { return executor_; }
  void pass(base::Nanos time) { executor_.sleep_until(executor_.now() + time); }

 private:
  base::VirtualExecutor executor_;
  Machine machine_;
};

inline Profile rtx4060ti() { return load_profile("rtx4060ti-16g-wddm").value(); }
inline Profile rtx3050() { return load_profile("rtx3050-6g-wddm").value(); }
// In whole granules, so that what is asked for is what is charged.
inline Bytes mib_of(double mib) { return static_cast<Bytes>(std::llround(mib / 2)) * 2 * kMiB; }

}  // namespace tidegate::sim
