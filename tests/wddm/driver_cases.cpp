// W-39 ... W-46: what CUDA and NVML make of it.
#include "tests/wddm/rule_cases.h"

namespace tidegate::sim {
namespace {

bool mappings_keep_memory(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const Bytes before = world.machine().used();
  const auto frame = program.map(64 * kMiB);
  EXPECT_OK(program.cuda().mem_release(frame.handle));
  return world.machine().used() == before + 64 * kMiB;
}

bool unmap_waits_for_nothing(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const auto frame = program.map(64 * kMiB);
  program.submit(frame.va);
  EXPECT_OK(program.cuda().mem_unmap(frame.va, frame.bytes));
  return world.machine().hazards().hits("H-4") == 1;
}

bool access_is_not_ready_after_an_eviction(Profile profile) {
  int not_ready = 0;
  constexpr int kRuns = 200;
  for (int seed = 1; seed <= kRuns; ++seed) {
    WindowsWorld world(profile, static_cast<std::uint64_t>(seed));
    Program program(world.machine(), "p");
    program.touch(program.map(64 * kMiB).va);
    EXPECT_TRUE(wddm::evict_process(program.process()));
    program.touch(program.map(64 * kMiB).va);  // tries again until it is
    EXPECT_LE(program.not_ready(), 1u);
    not_ready += static_cast<int>(program.not_ready());
  }
  return not_ready > kRuns / 10 && not_ready < kRuns / 3;
}

bool without_fallback_what_does_not_fit_is_refused(Profile profile) {
  profile.wddm.sysmem_fallback = false;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  return allocates(program, 4 * kGiB) && !allocates(program, 4 * kGiB);
}

bool a_synchronise_gives_pool_memory_back(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const Bytes before = world.machine().used();
  cu::DevicePtr ptr = 0;
  EXPECT_OK(program.cuda().mem_alloc_async(&ptr, 64 * kMiB, program.stream()));
  EXPECT_OK(program.cuda().mem_free_async(ptr, program.stream()));
  EXPECT_EQ(world.machine().used(), before + 64 * kMiB);
  EXPECT_OK(program.cuda().stream_synchronize(program.stream()));
  return world.machine().used() == before;
}

bool page_locking_has_a_wall(Profile profile) {
  profile.wddm.ram = 64 * kMiB;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  void* host = nullptr;
  if (program.cuda().mem_host_alloc(&host, 24 * kMiB, 0) != cu::kSuccess) return false;
  return program.cuda().mem_host_alloc(&host, 24 * kMiB, 0) == cu::kOutOfMemory;
}

bool nvml_tells_no_process(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  (void)program.nvml_free_mib();
  nvml::Device device = nullptr;
  nvml::ProcessInfo info{};
  unsigned count = 1;
  EXPECT_EQ(program.process().nvml().device_get_handle_by_index(0, &device), nvml::kSuccess);
  EXPECT_EQ(program.process().nvml().device_get_compute_running_processes_v3(device, &count, &info), nvml::kSuccess);
  return info.used_gpu_memory == nvml::kValueNotAvailable;
}

bool a_tcc_card_is_as_linux(Profile profile) {
  profile.personality = "tcc";
  WindowsWorld world(profile);
  Program observer(world.machine(), "observer");
  Program sibling(world.machine(), "sibling");
  const Bytes before = free_of(observer);
  sibling.grow(kGiB);
  return free_is(observer, before - kGiB);
}

constexpr RuleCase kCases[] = {
    {"W-39", mappings_keep_memory},
    {"W-40", unmap_waits_for_nothing},
    {"W-41", access_is_not_ready_after_an_eviction},
    {"W-42", without_fallback_what_does_not_fit_is_refused},
    {"W-43", a_synchronise_gives_pool_memory_back},
    {"W-44", page_locking_has_a_wall},
    {"W-45", nvml_tells_no_process},
    {"W-46", a_tcc_card_is_as_linux},
};

}  // namespace

std::span<const RuleCase> driver_cases() { return kCases; }

}  // namespace tidegate::sim
