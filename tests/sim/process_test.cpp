// Several processes on one card: what each sees, and what is left when one dies (rules L-1, L-3 ... L-6).
#include <algorithm>
#include <cstdio>

#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

class SimProcesses : public SimTest {
 protected:
  SimProcesses() : SimTest(load_profile("rtx3090-24g-linux").value()) {}

  static nvml::Device nvml_device(driver::Nvml& nvml) {
    nvml::Device device = nullptr;
    EXPECT_EQ(nvml.init(), nvml::kSuccess);
    EXPECT_EQ(nvml.device_get_handle_by_index(0, &device), nvml::kSuccess);
    return device;
  }

  static Bytes nvml_free(Process& process) {
    nvml::MemoryV2 memory{};
    memory.version = nvml::kMemoryV2Version;
    EXPECT_EQ(process.nvml().device_get_memory_info_v2(nvml_device(process.nvml()), &memory), nvml::kSuccess);
    EXPECT_EQ(memory.total, memory.reserved + memory.used + memory.free);
    return memory.free;
  }

  static Bytes mib(Bytes bytes) { return bytes / kMiB; }
};

// The table of L-1 (RTX 3090, driver 580.126.20). A desktop held what the figures leave over: 171 MiB. Each figure of
// the sibling is a process of its own, begun after the holder's reading and gone before the next.
TEST_F(SimProcesses, GT2FreeMemoryIsDeviceWide) {
  ASSERT_TRUE(machine_.start_process("desktop").hold(0, 171 * kMiB));
  struct Row {
    Bytes growth_gib, holder, sibling, smi;
  };
  const Row rows[] = {{0, 23'687, 23'425, 23'688}, {4, 19'591, 19'329, 19'592}, {10, 13'447, 13'185, 13'448}};
  std::vector<cu::DevicePtr> held;
  for (const Row& row : rows) {
    while (held.size() < row.growth_gib) held.push_back(memory(kGiB));
    EXPECT_EQ(mib(free_bytes()), row.holder);
    EXPECT_NEAR(static_cast<double>(mib(nvml_free(*process_))), static_cast<double>(row.smi), 1);
    Process& sibling = machine_.start_process("sibling");
    driver::Driver& driver = open(sibling);
    EXPECT_NEAR(static_cast<double>(mib(free_bytes(driver))), static_cast<double>(row.sibling), 2);
    EXPECT_EQ(free_bytes(driver), free_bytes());  // both see the same
    machine_.kill(sibling);
  }
}

TEST_F(SimProcesses, L4AndL5TheReserveLiesOutsideOfCudasTotal) {
  std::size_t total = 0;
  ASSERT_OK(cuda().device_total_mem(&total, 0));
  EXPECT_EQ(total, 24'122 * kMiB);
  driver::Nvml& nvml = process_->nvml();
  const nvml::Device device = nvml_device(nvml);
  nvml::Memory v1{};
  nvml::MemoryV2 v2{};
  ASSERT_EQ(nvml.device_get_memory_info(device, &v1), nvml::kSuccess);
  EXPECT_EQ(nvml.device_get_memory_info_v2(device, &v2), nvml::kArgumentVersionMismatch);
  v2.version = nvml::kMemoryV2Version;
  ASSERT_EQ(nvml.device_get_memory_info_v2(device, &v2), nvml::kSuccess);
  EXPECT_EQ(v1.total, 24'576 * kMiB);
  EXPECT_EQ(v2.reserved, 454 * kMiB);
  EXPECT_EQ(v2.used, 264 * kMiB);  // L-3: the context
  EXPECT_EQ(v1.used, v2.used + v2.reserved);
  EXPECT_EQ(v1.free, v2.free);
}

TEST_F(SimProcesses, L6NvmlTellsEachProcess) {
  Process& other = machine_.start_process("other");
  cu::DevicePtr theirs = 0;
  EXPECT_OK(open(other).mem_alloc(&theirs, kGiB));
  driver::Nvml& nvml = process_->nvml();
  const nvml::Device device = nvml_device(nvml);
  unsigned count = 1;
  nvml::ProcessInfo infos[4] = {};
  EXPECT_EQ(nvml.device_get_compute_running_processes_v3(device, &count, infos), nvml::kInsufficientSize);
  EXPECT_EQ(count, 2u);
  count = 4;
  ASSERT_EQ(nvml.device_get_compute_running_processes_v3(device, &count, infos), nvml::kSuccess);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(infos[0].pid, static_cast<unsigned>(process_->id()));
  EXPECT_EQ(infos[0].used_gpu_memory, 264 * kMiB);
  EXPECT_EQ(infos[1].pid, static_cast<unsigned>(other.id()));
  EXPECT_EQ(infos[1].used_gpu_memory, kGiB + 264 * kMiB);
  EXPECT_EQ(machine_.held_by(other), kGiB + 264 * kMiB);
}

TEST_F(SimProcesses, L7OneProcessesGrowthIsAnothersOutOfMemory) {
  const Bytes all = round_down(free_bytes() - 264 * kMiB, 2 * kMiB);
  Process& other = machine_.start_process("other");
  cu::DevicePtr ptr = 0;
  EXPECT_OK(open(other).mem_alloc(&ptr, all));
  EXPECT_EQ(cuda().mem_alloc(&ptr, 2 * kMiB), cu::kOutOfMemory);
  Process& third = machine_.start_process("third");
  cu::Context context = nullptr;
  EXPECT_OK(third.driver().init(0));
  EXPECT_EQ(third.driver().device_primary_ctx_retain(&context, 0), cu::kOutOfMemory);
  machine_.kill(other);
  EXPECT_OK(cuda().mem_alloc(&ptr, 2 * kMiB));
}

TEST_F(SimProcesses, ADeadProcessLeavesNothing) {
  const Bytes before = machine_.used();
  Process& doomed = machine_.start_process("doomed");
  ASSERT_TRUE(doomed.hold(0, 64 * kMiB));
  base::Nanos died = 0;
  const base::Nanos start = now();
  executor_.run_threads({[&] {
                           driver::Driver& driver = open(doomed);
                           cu::DevicePtr ptr = 0;
                           EXPECT_OK(driver.mem_alloc(&ptr, 3 * kGiB));
                           cu::Stream on = nullptr;
                           EXPECT_OK(driver.stream_create(&on, 0));
                           const driver::CheckKernels kernels = driver::CheckKernels::load(driver).value();
                           EXPECT_OK(kernels.launch_work(driver, 0, 0, 10'000'000'000, on));
                           EXPECT_EQ(driver.stream_synchronize(on), cu::kDeinitialized);
                           died = now();
                           std::size_t free = 0;
                           EXPECT_EQ(driver.mem_get_info(&free, &free), cu::kDeinitialized);
                         },
                         [&] {
                           executor_.sleep_until(start + base::kSecond);
                           machine_.kill(doomed);
                         }});
  EXPECT_EQ(died, start + base::kSecond);
  EXPECT_FALSE(doomed.alive());
  EXPECT_EQ(machine_.used(), before);
  EXPECT_EQ(machine_.held_by(doomed), 0u);
  EXPECT_EQ(doomed.nvml().init(), nvml::kUnknown);
  EXPECT_OK(cuda().ctx_synchronize());
}

TEST_F(SimProcesses, OneProcessesAddressesMeanNothingToAnother) {
  Process& other = machine_.start_process("other");
  driver::Driver& driver = open(other);
  cu::DevicePtr theirs = 0;
  EXPECT_OK(driver.mem_alloc(&theirs, 2 * kMiB));
  const cu::DevicePtr ours = memory(2 * kMiB);
  EXPECT_NE(theirs, ours);
  EXPECT_EQ(driver.mem_free(ours), cu::kInvalidValue);
}

// A card's time is shared: one process's copy waits for another's.
TEST_F(SimProcesses, EnginesAreShared) {
  Process& other = machine_.start_process("other");
  const cu::Stream on = stream();
  const cu::DevicePtr device = memory(64 * kMiB);
  unsigned char* host = pinned(64 * kMiB);
  driver::Driver& driver = open(other);
  cu::DevicePtr theirs = 0;
  EXPECT_OK(driver.mem_alloc(&theirs, 64 * kMiB));
  void* source = nullptr;
  EXPECT_OK(driver.mem_host_alloc(&source, 64 * kMiB, 0));
  EXPECT_OK(driver.memcpy_htod_async(theirs, source, 64 * kMiB, nullptr));
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(device, host, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_GT(now() - start, 64 * 40'000);  // the rest of 64 MiB at 25 GB/s
}

TEST_F(SimProcesses, EachWorldHasItsOwnCards) {
  const auto uuid_of = [](std::uint64_t seed) {
    base::VirtualExecutor executor(seed);
    Machine machine(executor, seed);
    machine.add_card(plain_profile());
    machine.add_card(plain_profile());
    const cu::Uuid first = machine.uuid(0);
    EXPECT_NE(std::memcmp(&first, machine.uuid(1).bytes, sizeof first), 0);
    return std::vector<unsigned char>(std::begin(first.bytes), std::end(first.bytes));
  };
  EXPECT_EQ(uuid_of(1), uuid_of(1));
  EXPECT_NE(uuid_of(1), uuid_of(2));
}

TEST_F(SimProcesses, NvmlNamesTheCardAsCudaDoes) {
  driver::Nvml& nvml = process_->nvml();
  nvml::Device device = nullptr;
  EXPECT_EQ(nvml.device_get_handle_by_index(0, &device), nvml::kUninitialized);
  device = nvml_device(nvml);
  char text[nvml::kUuidBufferSize] = {};
  ASSERT_EQ(nvml.device_get_uuid(device, text, sizeof text), nvml::kSuccess);
  EXPECT_EQ(nvml.device_get_uuid(device, text, 10), nvml::kInsufficientSize);
  nvml::Device same = nullptr;
  ASSERT_EQ(nvml.device_get_handle_by_uuid(text, &same), nvml::kSuccess);
  EXPECT_EQ(same, device);
  char digits[8];
  std::snprintf(digits, sizeof digits, "GPU-%02x", static_cast<unsigned>(machine_.uuid().bytes[0]));
  EXPECT_EQ(std::string(text).substr(0, 6), digits);
  EXPECT_EQ(std::string(text).size(), 40u);
  ASSERT_EQ(nvml.device_get_name(device, text, sizeof text), nvml::kSuccess);
  EXPECT_STREQ(text, "NVIDIA GeForce RTX 3090");
  ASSERT_EQ(nvml.system_get_driver_version(text, sizeof text), nvml::kSuccess);
  EXPECT_STREQ(text, "580.126.20");
  unsigned count = 0;
  ASSERT_EQ(nvml.device_get_count(&count), nvml::kSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nvml.device_get_handle_by_index(1, &device), nvml::kInvalidArgument);
  EXPECT_EQ(nvml.shutdown(), nvml::kSuccess);
  EXPECT_EQ(nvml.device_get_count(&count), nvml::kUninitialized);
}

}  // namespace
}  // namespace tidegate::sim
