// The virtual clock to the nanosecond: what an operation takes, which engine serves it, what waits for what.
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

class SimTiming : public SimTest {};

TEST_F(SimTiming, ACopyTakesItsLatencyAndItsBytes) {
  const cu::Stream on = stream();
  const cu::DevicePtr device = memory(4 * kMiB);
  unsigned char* host = pinned(4 * kMiB);
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(device, host, 1'000'000, on));
  EXPECT_EQ(now(), start);  // asynchronous
  EXPECT_EQ(cuda().stream_query(on), cu::kNotReady);
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(now() - start, 1000 + 1'000'000);
}

TEST_F(SimTiming, QueriesSeeTheInstantOfCompletion) {
  const cu::Stream on = stream();
  const cu::Event done = event();
  const cu::DevicePtr device = memory(kMiB);
  unsigned char* host = pinned(kMiB);
  ASSERT_OK(cuda().memcpy_htod_async(device, host, 1000, on));
  ASSERT_OK(cuda().event_record(done, on));
  pass(1999);
  EXPECT_EQ(cuda().event_query(done), cu::kNotReady);
  pass(1);
  EXPECT_OK(cuda().event_query(done));
}

TEST_F(SimTiming, OneEngineServesOneCopyAtATime) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr device = memory(4 * kMiB);
  unsigned char* host = pinned(4 * kMiB);
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(device, host, 10'000, a));
  ASSERT_OK(cuda().memcpy_htod_async(device + kMiB, host, 10'000, b));
  ASSERT_OK(cuda().stream_synchronize(a));
  EXPECT_EQ(now() - start, 11'000);
  ASSERT_OK(cuda().stream_synchronize(b));
  EXPECT_EQ(now() - start, 22'000);
  EXPECT_EQ(machine_.busy_ns(0, EngineKind::kH2D), 22'000);
}

TEST_F(SimTiming, DirectionsAndKernelsOverlap) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::Stream c = stream();
  const cu::DevicePtr device = memory(4 * kMiB);
  unsigned char* host = pinned(4 * kMiB);
  ASSERT_OK(cuda().memset_d8_async(device, 0, 4 * kMiB, a));
  ASSERT_OK(cuda().stream_synchronize(a));
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(device, host, 10'000, a));
  ASSERT_OK(cuda().memcpy_dtoh_async(host + kMiB, device + kMiB, 10'000, b));
  ASSERT_OK(big_work(device + 2 * kMiB, 100, 11'000, c));
  ASSERT_OK(cuda().ctx_synchronize());
  EXPECT_EQ(now() - start, 11'000);
}

TEST_F(SimTiming, KernelsThatFillTheCardRunOneAfterTheOtherSmallOnesBeside) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::Stream c = stream();
  (void)kernels();
  const base::Nanos start = now();
  ASSERT_OK(big_work(0, 0, 5000, a));
  ASSERT_OK(big_work(0, 0, 5000, b));
  ASSERT_OK(work(0, 0, 7000, c));
  ASSERT_OK(cuda().stream_synchronize(c));
  EXPECT_EQ(now() - start, 7000);
  ASSERT_OK(cuda().stream_synchronize(b));
  EXPECT_EQ(now() - start, 10'000);
  EXPECT_EQ(machine_.busy_ns(0, EngineKind::kCompute), 10'000);
  EXPECT_EQ(machine_.busy_ns(0, EngineKind::kBeside), 7000);
}

// What has been ready longest goes first, whatever was submitted first.
TEST_F(SimTiming, AnEngineServesInOrderOfReadiness) {
  const cu::Stream gated = stream();
  const cu::Stream late = stream();
  const cu::Stream gate = stream();
  const cu::Event open = event();
  const cu::DevicePtr device = memory(4 * kMiB);
  unsigned char* host = pinned(4 * kMiB);
  ASSERT_OK(work(0, 0, 5000, gate));
  ASSERT_OK(cuda().event_record(open, gate));
  ASSERT_OK(cuda().stream_wait_event(gated, open, 0));
  ASSERT_OK(cuda().memcpy_htod_async(device, host, 10'000, gated));  // ready at 5000
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(device + kMiB, host, 10'000, late));  // ready at once
  ASSERT_OK(cuda().stream_synchronize(late));
  EXPECT_EQ(now() - start, 11'000);
  ASSERT_OK(cuda().stream_synchronize(gated));
  EXPECT_EQ(now() - start, 22'000);
}

TEST_F(SimTiming, TiesGoInOrderOfSubmission) {
  const cu::Stream gate = stream();
  const cu::Stream first = stream();
  const cu::Stream second = stream();
  const cu::Event open = event();
  const cu::DevicePtr device = memory(4 * kMiB);
  unsigned char* host = pinned(4 * kMiB);
  ASSERT_OK(work(0, 0, 5000, gate));
  ASSERT_OK(cuda().event_record(open, gate));
  ASSERT_OK(cuda().stream_wait_event(second, open, 0));
  ASSERT_OK(cuda().stream_wait_event(first, open, 0));
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(device, host, 1000, first));
  ASSERT_OK(cuda().memcpy_htod_async(device + kMiB, host, 1000, second));
  ASSERT_OK(cuda().stream_synchronize(first));
  EXPECT_EQ(now() - start, 7000);
  ASSERT_OK(cuda().stream_synchronize(second));
  EXPECT_EQ(now() - start, 9000);
}

TEST_F(SimTiming, CopiesOnTheCardReadAndWrite) {
  const cu::Stream on = stream();
  const cu::DevicePtr device = memory(4 * kMiB);
  ASSERT_OK(cuda().memset_d8_async(device, 1, 1'000'000, on));
  const base::Nanos start = now();
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(now() - start, 1000 + 100'000);
  ASSERT_OK(cuda().memcpy_dtod_async(device + 2 * kMiB, device, 1'000'000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(now() - start, 101'000 + 1000 + 200'000);
}

TEST_F(SimTiming, AChecksumReadsAtMemoryBandwidth) {
  const cu::Stream on = stream();
  const cu::DevicePtr device = memory(4 * kMiB);
  const cu::DevicePtr out = memory(8);
  ASSERT_OK(cuda().memset_d8_async(device, 1, 1'000'000, on));
  ASSERT_OK(cuda().memset_d8_async(out, 0, 8, on));
  (void)kernels();
  ASSERT_OK(cuda().stream_synchronize(on));
  const base::Nanos start = now();
  ASSERT_OK(kernels().launch_checksum(cuda(), device, 1'000'000, out, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(now() - start, 1000 + 100'000);
}

TEST_F(SimTiming, PageableCopiesBlockTheirCallerAndAreSlower) {
  const cu::Stream on = stream();
  const cu::DevicePtr device = memory(kMiB);
  std::vector<unsigned char> host(100'000, 3);
  const base::Nanos start = now();
  ASSERT_OK(cuda().memcpy_htod_async(device, host.data(), 100'000, on));
  EXPECT_EQ(now() - start, 1000 + 200'000);
  ASSERT_OK(cuda().mem_host_register(host.data(), host.size(), 0));
  ASSERT_OK(cuda().memcpy_htod_async(device, host.data(), 100'000, on));
  EXPECT_EQ(now() - start, 201'000);  // registered: asynchronous
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(now() - start, 201'000 + 101'000);
  ASSERT_OK(cuda().mem_host_unregister(host.data()));
}

TEST_F(SimTiming, TheDefaultStreamIsOrderedWithBlockingStreams) {
  const cu::Stream blocking = stream(cu::kStreamDefault);
  const cu::Stream other = stream(cu::kStreamDefault);
  const cu::Stream free_running = stream(cu::kStreamNonBlocking);
  (void)kernels();
  const base::Nanos start = now();
  ASSERT_OK(work(0, 0, 4000, blocking));
  ASSERT_OK(work(0, 0, 2000, nullptr));  // after blocking
  const cu::Event done = event();
  ASSERT_OK(cuda().event_record(done, nullptr));
  ASSERT_OK(work(0, 0, 1000, other));        // after the default stream
  ASSERT_OK(work(0, 0, 500, free_running));  // beside all
  ASSERT_OK(cuda().stream_synchronize(free_running));
  EXPECT_EQ(now() - start, 500);
  ASSERT_OK(cuda().event_synchronize(done));
  EXPECT_EQ(now() - start, 6000);
  ASSERT_OK(cuda().stream_synchronize(nullptr));  // and what blocking streams have got since
  EXPECT_EQ(now() - start, 7000);
}

TEST_F(SimTiming, ElapsedTimeIsExact) {
  const cu::Stream on = stream();
  const cu::Event begin = event(cu::kEventDefault);
  const cu::Event end = event(cu::kEventDefault);
  ASSERT_OK(cuda().event_record(begin, on));
  ASSERT_OK(work(0, 0, 2'500'000, on));
  ASSERT_OK(cuda().event_record(end, on));
  ASSERT_OK(cuda().event_synchronize(end));
  float elapsed_ms = 0;
  ASSERT_OK(cuda().event_elapsed_time(&elapsed_ms, begin, end));
  EXPECT_EQ(elapsed_ms, 2.5f);
}

TEST_F(SimTiming, SynchroniseDoesNotWaitForLaterWork) {
  const cu::Stream on = stream();
  (void)kernels();
  const base::Nanos start = now();
  ASSERT_OK(work(0, 0, 10'000, on));
  executor_.run_threads({[&] {
                           driver::Driver& driver = cuda();
                           open(*process_);
                           EXPECT_OK(driver.stream_synchronize(on));
                           EXPECT_EQ(now() - start, 10'000);
                         },
                         [&] {
                           open(*process_);
                           executor_.sleep_until(start + 5000);
                           EXPECT_OK(work(0, 0, 10'000, on));
                         }});
}

Profile shallow_profile() {
  Profile profile = plain_profile();
  profile.launch_queue_depth = 3;
  return profile;
}

class SimQueue : public SimTest {
 protected:
  SimQueue() : SimTest(shallow_profile()) {}
};

TEST_F(SimQueue, AFullLaunchQueueBlocksTheCaller) {
  const cu::Stream on = stream();
  (void)kernels();
  const base::Nanos start = now();
  for (int i = 0; i < 3; ++i) ASSERT_OK(work(0, 0, 1000, on));
  EXPECT_EQ(now(), start);
  ASSERT_OK(work(0, 0, 1000, on));
  EXPECT_EQ(now() - start, 1000);  // when the first had gone
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(now() - start, 4000);
}

class SimHostCosts : public SimTest {
 protected:
  SimHostCosts() : SimTest(load_profile("h200-linux").value()) {}
};

// The measured floors, within the fits' error.
TEST_F(SimHostCosts, CallsCostWhatWasMeasured) {
  const auto cost_of = [&](auto&& body) {
    const base::Nanos start = now();
    body();
    return static_cast<double>(now() - start) / 1000;
  };
  const cu::DevicePtr va = reserve(64 * 32 * kMiB);
  cu::MemHandle handle = 0;
  EXPECT_NEAR(cost_of([&] { handle = create(32 * kMiB); }), 15, 2);
  EXPECT_NEAR(cost_of([&] { EXPECT_OK(cuda().mem_map(va, 32 * kMiB, 0, handle, 0)); }), 2, 1);
  EXPECT_NEAR(cost_of([&] { EXPECT_OK(set_access(va, 32 * kMiB)); }), 45, 10);
  EXPECT_NEAR(cost_of([&] { EXPECT_OK(cuda().mem_unmap(va, 32 * kMiB)); }), 25, 6);
  EXPECT_NEAR(cost_of([&] { EXPECT_OK(cuda().mem_release(handle)); }), 46, 6);
  for (unsigned i = 0; i < 64; ++i) {
    ASSERT_OK(cuda().mem_map(va + i * 32 * kMiB, 32 * kMiB, 0, create(32 * kMiB), 0));
  }
  // Ranged calls do not help: they cost by the mapping.
  EXPECT_NEAR(cost_of([&] { EXPECT_OK(set_access(va, 64 * 32 * kMiB)); }), 2519, 100);
  EXPECT_NEAR(cost_of([&] { EXPECT_OK(cuda().mem_unmap(va, 64 * 32 * kMiB)); }), 1452, 50);
  EXPECT_NEAR(cost_of([&] { (void)free_bytes(); }), 5.3, 0.01);
}

TEST_F(SimHostCosts, CopiesReachWhatWasMeasured) {
  const cu::Stream on = stream();
  const cu::DevicePtr device = memory(64 * kMiB);
  unsigned char* host = pinned(64 * kMiB);
  const std::pair<Bytes, double> measured[] = {{64 * kKiB, 17.5}, {256 * kKiB, 35.3}, {kMiB, 47.8},
                                               {2 * kMiB, 51.3},  {8 * kMiB, 54.4},   {32 * kMiB, 55.2}};
  for (const auto& [bytes, gb_per_s] : measured) {
    constexpr int kCopies = 100;
    const base::Nanos start = now();
    for (int i = 0; i < kCopies; ++i) ASSERT_OK(cuda().memcpy_htod_async(device, host, bytes, on));
    ASSERT_OK(cuda().stream_synchronize(on));
    const double reached = static_cast<double>(bytes) * kCopies / static_cast<double>(now() - start);
    EXPECT_NEAR(reached / gb_per_s, 1, 0.03) << bytes;
  }
}

}  // namespace
}  // namespace tidegate::sim
