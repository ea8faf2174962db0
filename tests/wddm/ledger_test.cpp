// The ledgers under random use, and what several threads or another seed may and may not change.
#include "sim/vidmm/vidmm.h"
#include "tests/wddm/wddm_fixture.h"

namespace tidegate::sim {
namespace {

// Random calls on a bare video memory manager of 1 GiB; the ledgers are summed up anew after each.
void play(std::uint64_t seed, vidmm::CommitMode mode) {
  base::Random random(seed);
  vidmm::Adapter adapter;
  adapter.parameters = rtx3050().wddm;
  adapter.parameters.commit_mode = mode;
  adapter.parameters.untouched_resident = 100 * kMiB;
  adapter.parameters.ram = 8 * kGiB;
  adapter.vram = adapter.capacity = kGiB;
  adapter.vram_gb_per_s = 100;
  adapter.random = base::Random(seed);
  std::map<int, std::vector<vidmm::AllocId>> held;
  VectorClock host;
  base::Nanos now = 0;
  Epoch epoch = 0;
  for (int step = 0; step < 400; ++step) {
    now += static_cast<base::Nanos>(random.below(5 * base::kMillisecond));
    const int process = 1 + static_cast<int>(random.below(3));
    vidmm::Client& client = vidmm::client_of(adapter, process);
    std::vector<vidmm::AllocId>& own = held[process];
    const std::size_t some = own.empty() ? 0 : random.below(own.size());
    switch (random.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const auto kind = random.below(4) == 0 ? vidmm::Kind::kVmm : vidmm::Kind::kPlain;
        const vidmm::AllocId id = vidmm::create(adapter, client, kind, (1 + random.below(200)) * kMiB, {}, now);
        if (id != 0) own.push_back(id);
        break;
      }
      case 4:
        if (own.empty()) break;
        (void)vidmm::make_resident(adapter, client, {own[some]}, random.below(2) == 0, {}, now);
        vidmm::write_entries(adapter, client, adapter.allocs.at(own[some]), random.below(64) * 2 * kMiB, 4 * kMiB, host,
                             {});
        break;
      case 5:
        vidmm::run_until(adapter, now);
        if (!own.empty()) vidmm::evict(adapter, client, own[some]);
        break;
      case 6:
      case 7:
        (void)vidmm::schedule(adapter, client, {static_cast<std::uint32_t>(process), ++epoch}, {}, {}, now);
        if (random.below(2) == 0) host.raise({static_cast<std::uint32_t>(process), epoch});
        break;
      case 8:
      case 9:
        if (own.empty()) break;
        vidmm::destroy(adapter, client, own[some], host, {}, now);
        own.erase(own.begin() + static_cast<std::ptrdiff_t>(some));
        break;
      case 10:
        vidmm::run_until(adapter, now);
        client.knobs.restrict_budget_local = random.below(3) == 0 ? (1 + random.below(500)) * kMiB : 0;
        client.knobs.place_in_demoted_location = random.below(4) == 0;
        vidmm::demote_down_to(adapter, client, random.below(500) * kMiB);
        break;
      default:
        if (random.below(8) != 0) break;
        vidmm::end_process(adapter, client, host, now);
        own.clear();
    }
    ASSERT_EQ(vidmm::check_invariants(adapter), "") << "seed " << seed << ", step " << step;
  }
}

TEST(WindowsLedgers, AddUpWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    play(seed, vidmm::CommitMode::kLazyOnTouch);
    play(seed, vidmm::CommitMode::kEager);
    play(seed, vidmm::CommitMode::kAsyncRate);
    if (HasFatalFailure()) return;
  }
}

// H-7: two threads that create, map, unmap and release on one device, in any order: the same ends, and no hazard where
// each keeps its own order.
struct Ends {
  std::string ledgers;
  std::string hazards;
  std::string trace;
};

Ends two_threads(std::uint64_t seed, bool trace = false) {
  base::VirtualOptions executor_options;
  executor_options.seed = seed;
  executor_options.preempt_per_1024 = 200;
  base::VirtualExecutor executor(executor_options);
  MachineOptions options;
  options.trace = trace;
  Machine machine(executor, seed, options);
  machine.add_card(rtx3050());
  Process& process = machine.start_process("p");
  cu::Context context = nullptr;
  EXPECT_OK(process.driver().init(0));
  EXPECT_OK(process.driver().device_primary_ctx_retain(&context, 0));
  std::vector<std::function<void()>> bodies;
  for (int i = 0; i < 2; ++i) {
    bodies.emplace_back([&] {
      driver::Driver& cuda = process.driver();
      const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
      const cu::MemAccess access{{cu::kLocationDevice, 0}, cu::kAccessReadWrite};
      cu::Stream stream = nullptr;
      EXPECT_OK(cuda.ctx_set_current(context));
      EXPECT_OK(cuda.stream_create(&stream, cu::kStreamNonBlocking));
      cu::DevicePtr va = 0;
      EXPECT_OK(cuda.mem_address_reserve(&va, 40 * 32 * kMiB, 0, 0, 0));
      for (Bytes round = 0; round < 40; ++round) {
        const cu::DevicePtr at = va + round * 32 * kMiB;
        cu::MemHandle handle = 0;
        EXPECT_OK(cuda.mem_create(&handle, 32 * kMiB, &prop, 0));
        EXPECT_OK(cuda.mem_map(at, 32 * kMiB, 0, handle, 0));
        EXPECT_OK(cuda.mem_set_access(at, 32 * kMiB, &access, 1));
        EXPECT_OK(cuda.memset_d8_async(at, 1, 4, stream));
        EXPECT_OK(cuda.stream_synchronize(stream));
        if (round % 4 == 3) continue;
        EXPECT_OK(cuda.mem_unmap(at, 32 * kMiB));
        EXPECT_OK(cuda.mem_release(handle));
      }
    });
  }
  executor.run_threads(std::move(bodies));
  executor.sleep_until(executor.now() + base::kSecond);
  const wddm::Ledgers ledgers = wddm::ledgers_of(process);
  return {std::to_string(ledgers.committed) + " " + std::to_string(ledgers.resident) + " " +
              std::to_string(ledgers.demoted) + " " + std::to_string(ledgers.evicted_total),
          machine.hazards().text(), machine.trace()};
}

TEST(WindowsLedgers, H7ThreadsMayInterleaveInAnyOrder) {
  const Ends first = two_threads(1);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Ends ends = two_threads(seed);
    EXPECT_EQ(ends.ledgers, first.ledgers) << "seed " << seed;
    EXPECT_EQ(ends.hazards, "") << "seed " << seed;
  }
}

TEST(WindowsLedgers, I10SameSeedSameTrace) {
  const Ends first = two_threads(7, true);
  EXPECT_GT(first.trace.size(), 10'000u);
  EXPECT_EQ(first.trace, two_threads(7, true).trace);
  EXPECT_NE(first.trace, two_threads(8, true).trace);
}

}  // namespace
}  // namespace tidegate::sim
