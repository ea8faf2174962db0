// The simulated card: on the virtual clock, and on real threads.
#include <thread>

#include "sim/machine.h"
#include "src/base/thread_executor.h"
#include "src/base/virtual_executor.h"
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {
namespace {

template <typename Executor>
struct World {
  Executor executor;
  sim::Machine machine{executor, 1};
};

// A program that keeps the rules meets none of the detectors, and leaves nothing behind. What only Windows holds
// against a program (H-1, H-2, H-11) the suite does provoke: it releases memory that it never touched.
void expect_clean(const sim::Machine& machine) {
  const sim::Hazards found = machine.hazards();
  const std::uint64_t windows = found.hits("H-1") + found.hits("H-2") + found.hits("H-11");
  EXPECT_EQ(found.total_hits(), machine.profile().personality == "wddm" ? windows : 0) << found.text();
  EXPECT_EQ(machine.used(), 0u) << "bytes still held";
}

template <typename Executor>
Result<DriverUnderTest> make_world(std::shared_ptr<World<Executor>>& world, const char* card) {
  const Result<sim::Profile> profile = sim::load_profile(card);
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

Result<DriverUnderTest> make_virtual(const char* card) {
  std::shared_ptr<World<base::VirtualExecutor>> world;
  Result<DriverUnderTest> made = make_world(world, card);
  if (!made) return made;
  base::VirtualExecutor* executor = &world->executor;
  made->pause = [executor] { executor->spend(10 * base::kMicrosecond); };
  made->run_threads = [executor](std::vector<std::function<void()>> bodies) {
    executor->run_threads(std::move(bodies));
  };
  return made;
}

Result<DriverUnderTest> make_on_threads(const char* card) {
  std::shared_ptr<World<base::ThreadExecutor>> world;
  Result<DriverUnderTest> made = make_world(world, card);
  if (made) made->pause = [] { std::this_thread::yield(); };
  return made;
}

Result<DriverUnderTest> make_simulated() { return make_virtual("rtx3050-6g-linux"); }
Result<DriverUnderTest> make_simulated_on_threads() { return make_on_threads("rtx3050-6g-linux"); }
Result<DriverUnderTest> make_windows() { return make_virtual("rtx3050-6g-wddm"); }
Result<DriverUnderTest> make_windows_on_threads() { return make_on_threads("rtx3050-6g-wddm"); }

}  // namespace

TG_DRIVER_CONTRACT(Simulated, make_simulated);
TG_DRIVER_CONTRACT(SimulatedOnThreads, make_simulated_on_threads);
TG_DRIVER_CONTRACT(SimulatedWindows, make_windows);
TG_DRIVER_CONTRACT(SimulatedWindowsOnThreads, make_windows_on_threads);

}  // namespace tidegate::contract
