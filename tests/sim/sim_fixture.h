// One simulated machine with one card and one process, on the virtual clock.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/machine.h"
#include "src/base/virtual_executor.h"
#include "src/driver/kernels.h"

namespace tidegate::sim {

#define EXPECT_OK(call) EXPECT_EQ(call, ::tidegate::cu::kSuccess)
#define ASSERT_OK(call) ASSERT_EQ(call, ::tidegate::cu::kSuccess)

// A profile whose times can be added up in the head: copies 1 us + bytes / 1 GB/s, fills 1 us + bytes / 10 GB/s,
// calls free of charge.
inline Profile plain_profile() {
  Profile profile = load_profile("rtx3050-6g-linux").value();
  profile.h2d_gb_per_s = 1;
  profile.d2h_gb_per_s = 1;
  profile.pageable_h2d_gb_per_s = 0.5;
  profile.pageable_d2h_gb_per_s = 0.5;
  profile.copy_latency_ns = 1000;
  profile.vram_gb_per_s = 10;
  profile.kernel_latency_ns = 1000;
  profile.costs.fill({});
  return profile;
}

class SimTest : public testing::Test {
 protected:
  explicit SimTest(Profile profile = plain_profile(), MachineOptions options = {}, std::uint64_t seed = 1)
      : executor_(seed), machine_(executor_, seed, options) {
    machine_.add_card(profile);
    process_ = &machine_.start_process("test");
    open(*process_);
  }

  // Initialises a process's driver with its primary context current on this activity.
  driver::Driver& open(Process& process) {
    driver::Driver& driver = process.driver();
    EXPECT_OK(driver.init(0));
    cu::Context context = nullptr;
    EXPECT_OK(driver.device_primary_ctx_retain(&context, 0));
    EXPECT_OK(driver.ctx_set_current(context));
    return driver;
  }

  driver::Driver& cuda() { return process_->driver(); }
  base::Nanos now() { return executor_.now(); }
  void pass(base::Nanos time) { executor_.sleep_until(executor_.now() + time); }

  cu::Stream stream(unsigned flags = cu::kStreamNonBlocking) {
    cu::Stream made = nullptr;
    EXPECT_OK(cuda().stream_create(&made, flags));
    return made;
  }
  cu::Event event(unsigned flags = cu::kEventDisableTiming) {
    cu::Event made = nullptr;
    EXPECT_OK(cuda().event_create(&made, flags));
    return made;
  }
  cu::DevicePtr memory(Bytes bytes) {
    cu::DevicePtr ptr = 0;
    EXPECT_OK(cuda().mem_alloc(&ptr, bytes));
    return ptr;
  }
  unsigned char* pinned(Bytes bytes) {
    void* ptr = nullptr;
    EXPECT_OK(cuda().mem_host_alloc(&ptr, bytes, 0));
    std::memset(ptr, 0x11, bytes);
    return static_cast<unsigned char*>(ptr);
  }

  static cu::MemProp prop() {
    cu::MemProp made{};
    made.type = cu::kAllocationPinned;
    made.location = {cu::kLocationDevice, 0};
    return made;
  }
  cu::MemHandle create(Bytes bytes) {
    const cu::MemProp wanted = prop();
    cu::MemHandle handle = 0;
    EXPECT_OK(cuda().mem_create(&handle, bytes, &wanted, 0));
    return handle;
  }
  cu::DevicePtr reserve(Bytes bytes) {
    cu::DevicePtr va = 0;
    EXPECT_OK(cuda().mem_address_reserve(&va, bytes, 0, 0, 0));
    return va;
  }
  cu::Status set_access(cu::DevicePtr va, Bytes bytes, cu::MemAccessFlags flags = cu::kAccessReadWrite) {
    const cu::MemAccess access{{cu::kLocationDevice, 0}, flags};
    return cuda().mem_set_access(va, bytes, &access, 1);
  }
  void map(cu::DevicePtr va, Bytes bytes, cu::MemHandle handle) {
    EXPECT_OK(cuda().mem_map(va, bytes, 0, handle, 0));
    EXPECT_OK(set_access(va, bytes));
  }
  // Frames of `frame` bytes mapped side by side; their handles are appended to `handles`.
  cu::DevicePtr arena(Bytes frame, unsigned frames, std::vector<cu::MemHandle>* handles = nullptr) {
    const cu::DevicePtr va = reserve(frame * frames);
    for (unsigned i = 0; i < frames; ++i) {
      const cu::MemHandle handle = create(frame);
      map(va + i * frame, frame, handle);
      if (handles != nullptr) handles->push_back(handle);
    }
    return va;
  }

  const driver::CheckKernels& kernels() {
    if (kernels_.module == nullptr) kernels_ = driver::CheckKernels::load(cuda()).value();
    return kernels_;
  }
  cu::Status work(cu::DevicePtr ptr, Bytes bytes, base::Nanos time, cu::Stream on) {
    return kernels().launch_work(cuda(), ptr, bytes, static_cast<std::uint64_t>(time), on);
  }
  // A kernel that fills the card.
  cu::Status big_work(cu::DevicePtr ptr, Bytes bytes, base::Nanos time, cu::Stream on) {
    auto count = static_cast<std::uint64_t>(bytes);
    auto nanos = static_cast<std::uint64_t>(time);
    void* params[] = {&ptr, &count, &nanos};
    const auto blocks = static_cast<unsigned>(machine_.profile().multiprocessors);
    return cuda().launch_kernel(kernels().work, blocks, 1, 1, 32, 1, 1, 0, on, params, nullptr);
  }
  // The checksum of device memory, computed by the card on `on`.
  std::uint64_t device_checksum(cu::DevicePtr ptr, Bytes bytes, cu::Stream on) {
    const cu::DevicePtr out = memory(8);
    EXPECT_OK(cuda().memset_d8_async(out, 0, 8, on));
    EXPECT_OK(kernels().launch_checksum(cuda(), ptr, bytes, out, on));
    std::uint64_t sum = 0;
    EXPECT_OK(cuda().memcpy_dtoh_async(&sum, out, 8, on));
    EXPECT_OK(cuda().stream_synchronize(on));
    EXPECT_OK(cuda().mem_free(out));
    return sum;
  }

  Bytes free_bytes() { return free_bytes(cuda()); }
  static Bytes free_bytes(driver::Driver& driver) {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_OK(driver.mem_get_info(&free, &total));
    return free;
  }

  std::uint64_t hits(const char* rule) { return machine_.hazards().hits(rule); }
  std::uint64_t exposures(const char* rule) { return machine_.hazards().exposures(rule); }
  void expect_clean() {
    const Hazards found = machine_.hazards();
    EXPECT_EQ(found.total_hits() + found.total_exposures(), 0u) << found.text();
  }

  base::VirtualExecutor executor_;
  Machine machine_;
  Process* process_ = nullptr;

 private:
  driver::CheckKernels kernels_;
};

}  // namespace tidegate::sim
