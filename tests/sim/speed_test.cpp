// What the simulation itself costs. The bound is loose, for slow machines; the figure is printed.
#include <chrono>
#include <cstdio>

#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

class SimSpeed : public SimTest {};

TEST_F(SimSpeed, LeaseLikeSequencesAreCheap) {
#if defined(TIDEGATE_SANITIZE_ADDRESS) || defined(TIDEGATE_SANITIZE_THREAD) || defined(TIDEGATE_SANITIZE_UNDEFINED)
  constexpr int kRounds = 2'000;
  constexpr double kBoundUs = 1000;
#else
  constexpr int kRounds = 20'000;
  constexpr double kBoundUs = 50;
#endif
  constexpr Bytes kFrame = 32 * kMiB;
  constexpr unsigned kFrames = 32;
  constexpr Bytes kBlock = 24 * kMiB;
  constexpr int kOps = 5;
  const cu::DevicePtr va = arena(kFrame, kFrames);
  const cu::Stream copies = stream();
  const cu::Stream compute = stream();
  const std::vector<unsigned char> reserved(1);  // stands for address space that is never read
  ASSERT_TRUE(machine_.declare_tagged_host(reserved.data(), kBlock, 7));
  std::vector<cu::Event> arrived;
  std::vector<cu::Event> used;
  for (unsigned i = 0; i < kFrames; ++i) {
    arrived.push_back(event());
    used.push_back(event());
    ASSERT_OK(cuda().event_record(used.back(), compute));
  }
  (void)kernels();
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round) {
    const unsigned slot = static_cast<unsigned>(round) % kFrames;
    const cu::DevicePtr at = va + slot * kFrame + (slot % 2) * 12 * kMiB;  // every other one crosses a border
    const Bytes bytes = slot + 1 == kFrames ? 16 * kMiB : kBlock;
    ASSERT_OK(cuda().stream_wait_event(copies, used[slot], 0));
    const unsigned neighbour = slot % 2 == 1 ? slot + 1 : slot + kFrames - 1;  // whose bytes it shares a frame with
    ASSERT_OK(cuda().stream_wait_event(copies, used[neighbour % kFrames], 0));
    ASSERT_OK(cuda().memcpy_htod_async(at, reserved.data(), bytes, copies));
    ASSERT_OK(cuda().event_record(arrived[slot], copies));
    ASSERT_OK(cuda().stream_wait_event(compute, arrived[slot], 0));
    ASSERT_OK(work(at, bytes, 1000, compute));
    ASSERT_OK(work(at, bytes, 1000, compute));
    ASSERT_OK(cuda().event_record(used[slot], compute));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double per_call_us = seconds * 1e6 / (kRounds * (kOps + 3));
  std::printf("[          ] %.2f us of wall time per call, detection on\n", per_call_us);
  EXPECT_LT(per_call_us, kBoundUs);
  EXPECT_EQ(machine_.hazards().total_hits(), 0u) << machine_.hazards().text();
}

}  // namespace
}  // namespace tidegate::sim
