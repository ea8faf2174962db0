// A world in virtual time that is visited by threads which it does not know.
#include <atomic>
#include <thread>

#include "sim/visiting.h"
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

using Visit = base::VirtualExecutor::Visit;

struct VisitedWorld {
  explicit VisitedWorld(std::uint64_t seed) : executor(seed), machine(executor, seed, traced()) {
    machine.add_card(load_profile("rtx3050-6g-wddm").value());
    process = &machine.start_process("visited");
    executor.open_door();
  }
  static MachineOptions traced() {
    MachineOptions options;
    options.trace = true;
    return options;
  }
  base::VirtualExecutor executor;
  Machine machine;
  Process* process = nullptr;
};

// Memory comes and goes, under work.
std::string play(std::uint64_t seed) {
  VisitedWorld world(seed);
  visiting::VisitingDriver driver(world.executor, world.process->driver());
  cu::Context context = nullptr;
  EXPECT_OK(driver.init(0));
  EXPECT_OK(driver.device_primary_ctx_retain(&context, 0));
  EXPECT_OK(driver.ctx_set_current(context));
  for (int step = 0; step < 50; ++step) {
    cu::DevicePtr ptr = 0;
    EXPECT_OK(driver.mem_alloc(&ptr, 64 * kMiB));
    EXPECT_OK(driver.memset_d8_async(ptr, 1, 64 * kMiB, nullptr));
    EXPECT_OK(step % 2 == 0 ? driver.stream_synchronize(nullptr) : driver.ctx_synchronize());
    EXPECT_OK(driver.mem_free(ptr));
  }
  EXPECT_EQ(base::VirtualExecutor::current(), nullptr);
  const Visit visit(world.executor);
  return world.machine.trace();
}

TEST(SimVisit, I10OneThreadSameSeedSameRun) {
  const std::string first = play(5);
  EXPECT_GT(first.size(), 5'000u);
  EXPECT_EQ(first, play(5));
  EXPECT_NE(first, play(6));
}

TEST(SimVisit, TimePassesInsideCallsOnly) {
  VisitedWorld world(1);
  visiting::VisitingDriver driver(world.executor, world.process->driver());
  const auto now = [&] {
    const Visit visit(world.executor);
    return world.executor.now();
  };
  EXPECT_OK(driver.init(0));
  const base::Nanos before = now();
  EXPECT_EQ(now(), before);
  int count = 0;
  EXPECT_OK(driver.device_get_count(&count));
  EXPECT_GT(now(), before);
}

// Each thread is one activity, which keeps its current context between visits.
TEST(SimVisit, ThreadsVisitInTurnAndKeepTheirContexts) {
  VisitedWorld world(1);
  visiting::VisitingDriver driver(world.executor, world.process->driver());
  EXPECT_OK(driver.init(0));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      cu::Context mine = nullptr;
      cu::Context current = nullptr;
      EXPECT_OK(driver.ctx_create(&mine, 0, 0));
      for (int step = 0; step < 50; ++step) {
        cu::DevicePtr ptr = 0;
        EXPECT_OK(driver.mem_alloc(&ptr, kMiB));
        EXPECT_OK(driver.memset_d8_async(ptr, 1, kMiB, nullptr));
        EXPECT_OK(driver.ctx_synchronize());
        EXPECT_OK(driver.mem_free(ptr));
        EXPECT_OK(driver.ctx_get_current(&current));
        if (current == mine) ++right;
      }
      EXPECT_OK(driver.ctx_destroy(mine));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 200);
}

}  // namespace
}  // namespace tidegate::sim
