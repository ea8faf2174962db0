// Writes everything that a few worlds do: `same_trace FILE`. Builds of other compilers and for other systems must write
// the same bytes (I10); tools/same_trace.sh compares them.
#include <cstdio>
#include <vector>

#include "sim/machine.h"
#include "src/base/write_file.h"
#include "tests/property/world.h"

namespace tidegate {
namespace {

constexpr std::uint64_t kSeeds = 6;

// The pager, several callers, a driver that fails.
std::string pager_world(std::uint64_t seed) {
  property::World world({.name = "SameTrace", .most_threads = 4, .faults = true, .trace = true}, seed);
  const std::string error = world.run();
  return world.trace() + "violation: " + error + "\n";
}

// A process under Windows that takes memory by pieces, uses it and gives it back without care.
void churn(driver::Driver& driver, std::uint64_t seed, Bytes most) {
  struct Piece {
    cu::DevicePtr address;
    cu::MemHandle handle;
    Bytes bytes;
  };
  base::Random random(seed);
  std::vector<Piece> held;
  Bytes total = 0;
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  (void)driver.init(0);
  (void)driver.device_primary_ctx_retain(&context, 0);
  (void)driver.ctx_set_current(context);
  (void)driver.stream_create(&stream, cu::kStreamNonBlocking);
  cu::MemProp prop{};
  prop.type = cu::kAllocationPinned;
  prop.location = {cu::kLocationDevice, 0};
  const cu::MemAccess access{prop.location, cu::kAccessReadWrite};
  for (int step = 0; step < 150; ++step) {
    Piece piece{0, 0, (1 + random.below(120)) * 2 * kMiB};
    if (total + piece.bytes <= most && driver.mem_create(&piece.handle, piece.bytes, &prop, 0) == cu::kSuccess) {
      (void)driver.mem_address_reserve(&piece.address, piece.bytes, 0, 0, 0);
      (void)driver.mem_map(piece.address, piece.bytes, 0, piece.handle, 0);
      (void)driver.mem_set_access(piece.address, piece.bytes, &access, 1);
      (void)driver.memset_d8_async(piece.address, 1, piece.bytes, stream);
      total += piece.bytes;
      held.push_back(piece);
    }
    if (random.below(3) == 0) (void)driver.stream_synchronize(stream);
    if (held.empty() || random.below(2) == 0) continue;
    const std::size_t chosen = random.below(held.size());
    const Piece gone = held[chosen];
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(chosen));
    (void)driver.mem_unmap(gone.address, gone.bytes);
    (void)driver.mem_release(gone.handle);
    (void)driver.mem_address_free(gone.address, gone.bytes);
    total -= gone.bytes;
  }
  (void)driver.ctx_synchronize();
  (void)driver.device_primary_ctx_release(0);
}

// Two such processes on a card that holds one of them.
std::string windows_world(std::uint64_t seed) {
  base::VirtualExecutor executor(base::VirtualOptions{.seed = seed, .preempt_per_1024 = 100});
  sim::MachineOptions options;
  options.trace = true;
  sim::Machine machine(executor, seed, options);
  machine.add_card(sim::load_profile("rtx3050-6g-wddm").value());
  sim::Process& first = machine.start_process("first");
  sim::Process& second = machine.start_process("second");
  executor.run_threads(
      {[&] { churn(first.driver(), seed, 4 * kGiB); }, [&] { churn(second.driver(), ~seed, 4 * kGiB); }});
  return machine.trace() + machine.hazards().text();
}

int write(const char* path) {
  std::string text;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    text += "--- pager, seed " + std::to_string(seed) + "\n" + pager_world(seed);
    text += "--- under Windows, seed " + std::to_string(seed) + "\n" + windows_world(seed);
  }
  if (auto written = base::write_file(path, text); !written) {
    std::fprintf(stderr, "same_trace: %s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tidegate

int main(int count, char** words) {
  if (count == 2) return tidegate::write(words[1]);
  std::fprintf(stderr, "usage: same_trace FILE\n");
  return 2;
}
