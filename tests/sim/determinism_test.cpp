// Same seed, same calls: the same run, byte by byte (I10).
#include "src/base/checksum.h"
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

// Three processes of two activities each, which allocate, copy, compute and give back at random.
std::string run(std::uint64_t seed) {
  base::VirtualOptions executor_options;
  executor_options.seed = seed;
  executor_options.preempt_per_1024 = 100;
  base::VirtualExecutor executor(executor_options);
  MachineOptions options;
  options.trace = true;
  Machine machine(executor, seed, options);
  machine.add_card(load_profile("rtx3050-6g-linux").value());
  std::vector<std::function<void()>> bodies;
  for (int i = 0; i < 3; ++i) {
    Process& process = machine.start_process("p" + std::to_string(i));
    for (int activity = 0; activity < 2; ++activity) {
      bodies.emplace_back([&process, seed, i, activity] {
        driver::Driver& driver = process.driver();
        base::Random random(seed * 100 + static_cast<std::uint64_t>(i * 10 + activity));
        cu::Context context = nullptr;
        EXPECT_OK(driver.init(0));
        EXPECT_OK(driver.device_primary_ctx_retain(&context, 0));
        EXPECT_OK(driver.ctx_set_current(context));
        cu::Stream on = nullptr;
        EXPECT_OK(driver.stream_create(&on, cu::kStreamNonBlocking));
        void* host = nullptr;
        EXPECT_OK(driver.mem_host_alloc(&host, kMiB, 0));
        std::memset(host, 1, kMiB);
        std::vector<cu::DevicePtr> held;
        for (int step = 0; step < 100; ++step) {
          cu::DevicePtr ptr = 0;
          const Bytes size = (1 + random.below(300)) * kMiB;
          if (driver.mem_alloc(&ptr, size) == cu::kSuccess) {
            EXPECT_OK(driver.memcpy_htod_async(ptr, host, 1 + random.below(kMiB), on));
            held.push_back(ptr);
          }
          if (held.size() > 5 || ptr == 0) {
            EXPECT_OK(driver.stream_synchronize(on));
            if (held.empty()) continue;
            EXPECT_OK(driver.mem_free(held.front()));
            held.erase(held.begin());
          }
        }
        EXPECT_OK(driver.stream_synchronize(on));
        EXPECT_OK(driver.device_primary_ctx_release(0));
      });
    }
  }
  executor.run_threads(std::move(bodies));
  EXPECT_EQ(machine.hazards().total_hits(), 0u) << machine.hazards().text();
  return machine.trace();
}

TEST(SimDeterminism, I10SameSeedSameTrace) {
  const std::string first = run(7);
  EXPECT_GT(first.size(), 10'000u);
  EXPECT_EQ(first, run(7));
  EXPECT_NE(first, run(8));
}

}  // namespace
}  // namespace tidegate::sim
