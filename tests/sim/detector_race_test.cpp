// Rule RACE: what orders two accesses, and what does not.
#include "tests/sim/detector_fixture.h"

namespace tidegate::sim {
namespace {

class SimRaces : public SimDetectors {};

TEST_F(SimRaces, RaceBetweenStreams) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().memset_d8_async(va, 1, 1000, a));
  ASSERT_OK(work(va + 999, 1, 1000, b));
  EXPECT_EQ(hits("RACE"), 1u);
  ASSERT_OK(work(va + 1000, 1, 1000, b));  // its neighbour is nobody else's
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, RaceOfAWriteWithAnEarlierRead) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame, 1000, a));
  ASSERT_OK(work(va, kFrame, 1000, b));  // two readers are fine
  EXPECT_EQ(hits("RACE"), 0u);
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, b));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, EventsOrder) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::Stream c = stream();
  const cu::Event written = event();
  const cu::Event passed_on = event();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, a));
  ASSERT_OK(cuda().event_record(written, a));
  ASSERT_OK(cuda().stream_wait_event(b, written, 0));
  ASSERT_OK(work(va, kFrame, 1000, b));
  ASSERT_OK(cuda().event_record(passed_on, b));
  ASSERT_OK(cuda().stream_wait_event(c, passed_on, 0));  // and on, through b
  ASSERT_OK(cuda().memset_d8_async(va, 2, kFrame, c));
  ASSERT_OK(cuda().ctx_synchronize());
  expect_clean();
}

TEST_F(SimRaces, AnEventRecordedTooEarlyDoesNotOrder) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::Event early = event();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().event_record(early, a));
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, a));
  ASSERT_OK(cuda().stream_wait_event(b, early, 0));
  ASSERT_OK(work(va, kFrame, 1000, b));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, AFailedQueryDoesNotOrderASuccessfulOneDoes) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, a));
  EXPECT_EQ(cuda().stream_query(a), cu::kNotReady);
  pass(base::kSecond);
  ASSERT_OK(work(va, kFrame, 1000, b));  // over in fact, unknown to the host
  EXPECT_EQ(hits("RACE"), 1u);
  EXPECT_OK(cuda().stream_query(a));
  ASSERT_OK(work(va, kFrame, 1000, b));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, TheDefaultStreamOrdersBlockingStreamsOnly) {
  const cu::Stream blocking = stream(cu::kStreamDefault);
  const cu::Stream free_running = stream(cu::kStreamNonBlocking);
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, blocking));
  ASSERT_OK(cuda().memset_d8_async(va, 2, kFrame, nullptr));
  ASSERT_OK(cuda().memset_d8_async(va, 3, kFrame, blocking));
  EXPECT_EQ(hits("RACE"), 0u);
  ASSERT_OK(work(va, kFrame, 1000, free_running));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, ChecksumsMayAddToOneSum) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(kernels().launch_checksum(cuda(), va, 1024, va + kMiB, a));
  ASSERT_OK(kernels().launch_checksum(cuda(), va, 1024, va + kMiB, b));
  EXPECT_EQ(hits("RACE"), 0u);
  ASSERT_OK(work(va + kMiB, 8, 1000, stream()));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, ARecycledFrameCarriesItsHistoryToItsNewAddress) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  cu::MemHandle handle = 0;
  const cu::DevicePtr first = frame(&handle);
  const cu::DevicePtr second = reserve(kFrame);
  map(second, kFrame, handle);
  ASSERT_OK(work(first, kFrame, 1000, a));
  ASSERT_OK(cuda().memset_d8_async(second, 1, kFrame, b));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, ADestroyedStreamsWorkIsStillUnordered) {
  const cu::Stream doomed = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame, 1000, doomed));
  ASSERT_OK(cuda().stream_destroy(doomed));
  pass(5000);
  const cu::Stream fresh = stream();
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, fresh));
  EXPECT_EQ(hits("RACE"), 1u);
  ASSERT_OK(cuda().ctx_synchronize());  // the context-level proof
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, stream()));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimRaces, OverlappingCopiesOnTheCardAreRaces) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().memcpy_dtod_async(va + 1000, va, 1000, on));
  EXPECT_EQ(hits("RACE"), 0u);
  ASSERT_OK(cuda().memcpy_dtod_async(va + 999, va, 1000, on));
  EXPECT_EQ(hits("RACE"), 1u);
}

}  // namespace
}  // namespace tidegate::sim
