// The simulated card: on the virtual clock, and on real threads.
#include <thread>

#include "sim/machine.h"
#include "src/base/thread_executor.h"
#include "src/base/virtual_executor.h"
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {
namespace {

constexpr const char* kProfile = "rtx3050-6g-linux";

template <typename Executor>
struct World {
  Executor executor;
  sim::Machine machine{executor, 1};
};

// A program that keeps the rules meets none of the detectors, and leaves nothing behind.
void expect_clean(const sim::Machine& machine) {
  EXPECT_EQ(machine.hazards().total_hits(), 0u) << machine.hazards().text();
  EXPECT_EQ(machine.used(), 0u) << "bytes still held";
}

template <typename Executor>
Result<DriverUnderTest> make_world(std::shared_ptr<World<Executor>>& world) {
  const Result<sim::Profile> profile = sim::load_profile(kProfile);
  if (!profile) return profile.error();
  world = std::make_shared<World<Executor>>();
  world->machine.add_card(profile.value());
  DriverUnderTest under_test;
  under_test.owner = world;
  under_test.driver = &world->machine.start_process("contract").driver();
  under_test.simulated = true;
  under_test.finish = [machine = &world->machine] { expect_clean(*machine); };
  return under_test;
}

Result<DriverUnderTest> make_simulated() {
  std::shared_ptr<World<base::VirtualExecutor>> world;
  Result<DriverUnderTest> made = make_world(world);
  if (!made) return made;
  base::VirtualExecutor* executor = &world->executor;
  made->pause = [executor] { executor->spend(10 * base::kMicrosecond); };
  made->run_threads = [executor](std::vector<std::function<void()>> bodies) {
    executor->run_threads(std::move(bodies));
  };
  return made;
}

Result<DriverUnderTest> make_simulated_on_threads() {
  std::shared_ptr<World<base::ThreadExecutor>> world;
  Result<DriverUnderTest> made = make_world(world);
  if (made) made->pause = [] { std::this_thread::yield(); };
  return made;
}

}  // namespace

TG_DRIVER_CONTRACT(Simulated, make_simulated);
TG_DRIVER_CONTRACT(SimulatedOnThreads, make_simulated_on_threads);

}  // namespace tidegate::contract
