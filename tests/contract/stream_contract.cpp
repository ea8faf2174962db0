// Streams and events: what is ordered, what waits, what is known when.
#include <algorithm>

#include "tests/contract/driver_contract.h"

namespace tidegate::contract {
namespace {

constexpr unsigned kBusyMs = 50;

}  // namespace

TEST_P(DriverContract, IdleStreamsAreDone) {
  const cu::Stream stream = make_stream();
  EXPECT_CUDA_OK(cuda().stream_query(stream));
  EXPECT_CUDA_OK(cuda().stream_synchronize(stream));
  cu::Stream refused = nullptr;
  EXPECT_EQ(cuda().stream_create(&refused, 1u << 20), cu::kInvalidValue);
}

TEST_P(DriverContract, AThreadHasAStreamOfItsOwn) {
  const auto own = reinterpret_cast<cu::Stream>(std::uintptr_t{2});  // CU_STREAM_PER_THREAD
  const cu::Event event = make_event();
  keep_busy(own, kBusyMs);
  EXPECT_EQ(cuda().stream_query(own), cu::kNotReady);
  EXPECT_CUDA_OK(cuda().stream_query(make_stream()));
  ASSERT_CUDA_OK(cuda().event_record(event, own));
  EXPECT_CUDA_OK(cuda().stream_synchronize(own));
  EXPECT_CUDA_OK(cuda().event_query(event));
}

TEST_P(DriverContract, PrioritiesAreClamped) {
  for (const int priority : {-1000, 0, 1000}) {
    cu::Stream stream = nullptr;
    ASSERT_CUDA_OK(cuda().stream_create_with_priority(&stream, cu::kStreamNonBlocking, priority));
    EXPECT_CUDA_OK(cuda().stream_query(stream));
    EXPECT_CUDA_OK(cuda().stream_destroy(stream));
  }
}

TEST_P(DriverContract, BusyStreamsAreNotReadyUntilTheyAre) {
  const cu::Stream stream = make_stream();
  const cu::Event event = make_event();
  keep_busy(stream, kBusyMs);
  ASSERT_CUDA_OK(cuda().event_record(event, stream));
  EXPECT_EQ(cuda().stream_query(stream), cu::kNotReady);
  EXPECT_EQ(cuda().event_query(event), cu::kNotReady);
  while (cuda().event_query(event) == cu::kNotReady) under_test_.pause();
  EXPECT_CUDA_OK(cuda().event_query(event));
  EXPECT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_CUDA_OK(cuda().stream_query(stream));
}

TEST_P(DriverContract, SynchronizeWaits) {
  const cu::Stream stream = make_stream();
  const cu::Event event = make_event();
  keep_busy(stream, kBusyMs);
  ASSERT_CUDA_OK(cuda().event_record(event, stream));
  ASSERT_CUDA_OK(cuda().event_synchronize(event));
  EXPECT_CUDA_OK(cuda().event_query(event));
  keep_busy(stream, kBusyMs);
  ASSERT_CUDA_OK(cuda().ctx_synchronize());
  EXPECT_CUDA_OK(cuda().stream_query(stream));
}

TEST_P(DriverContract, NeverRecordedEventsAreEmpty) {
  const cu::Event event = make_event();
  EXPECT_CUDA_OK(cuda().event_query(event));
  EXPECT_CUDA_OK(cuda().event_synchronize(event));
}

// The trap of the flow of a weight: the wait is accepted and waits for nothing. Simulated cards report it besides.
TEST_P(DriverContract, WaitingOnANeverRecordedEventWaitsForNothing) {
  if (under_test_.simulated) GTEST_SKIP() << "the simulated card reports it; its own tests cover that";
  const cu::Stream stream = make_stream();
  const cu::Event event = make_event();
  ASSERT_CUDA_OK(cuda().stream_wait_event(stream, event, 0));
  const cu::Stream busy = make_stream();
  keep_busy(busy, kBusyMs);
  ASSERT_CUDA_OK(cuda().event_record(event, busy));  // too late for the wait
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_EQ(cuda().event_query(event), cu::kNotReady);
}

TEST_P(DriverContract, AStreamRunsInOrder) {
  const cu::Stream stream = make_stream();
  const cu::DevicePtr device = make_memory(4096);
  const auto bytes = seeded_bytes(4096, 1);
  unsigned char* pinned = make_pinned(4096);
  ASSERT_CUDA_OK(cuda().memset_d8_async(device, 0, 4096, stream));
  keep_busy(stream, kBusyMs);
  std::copy(bytes.begin(), bytes.end(), pinned);
  ASSERT_CUDA_OK(cuda().memcpy_htod_async(device, pinned, 4096, stream));
  EXPECT_EQ(download(device, 4096, stream), bytes);
}

TEST_P(DriverContract, EventsOrderStreams) {
  const cu::Stream producer = make_stream();
  const cu::Stream consumer = make_stream();
  const cu::Event written = make_event();
  const cu::DevicePtr source = make_memory(4096);
  const cu::DevicePtr device = make_memory(4096);
  const auto bytes = seeded_bytes(4096, 2);
  upload(source, bytes, producer);
  upload(device, std::vector<unsigned char>(4096, 0), producer);

  keep_busy(producer, kBusyMs);
  ASSERT_CUDA_OK(cuda().memcpy_dtod_async(device, source, 4096, producer));
  ASSERT_CUDA_OK(cuda().event_record(written, producer));
  ASSERT_CUDA_OK(cuda().stream_wait_event(consumer, written, 0));
  EXPECT_EQ(cuda().stream_query(consumer), cu::kNotReady);
  EXPECT_EQ(download(device, 4096, consumer), bytes);
}

TEST_P(DriverContract, AWaitMeansTheLatestRecordBeforeIt) {
  const cu::Stream first = make_stream();
  const cu::Stream second = make_stream();
  const cu::Event event = make_event();
  ASSERT_CUDA_OK(cuda().event_record(event, first));
  ASSERT_CUDA_OK(cuda().stream_wait_event(second, event, 0));
  keep_busy(first, 4 * kBusyMs);
  ASSERT_CUDA_OK(cuda().event_record(event, first));  // moves the event, not the wait
  ASSERT_CUDA_OK(cuda().stream_synchronize(second));
  EXPECT_EQ(cuda().event_query(event), cu::kNotReady);
}

TEST_P(DriverContract, EventsMayBeDestroyedWhileWaitedFor) {
  const cu::Stream producer = make_stream();
  const cu::Stream consumer = make_stream();
  const cu::DevicePtr device = make_memory(4096);
  upload(device, std::vector<unsigned char>(4096, 0), producer);
  cu::Event event = nullptr;
  ASSERT_CUDA_OK(cuda().event_create(&event, cu::kEventDisableTiming));
  keep_busy(producer, kBusyMs);
  ASSERT_CUDA_OK(cuda().memset_d8_async(device, 9, 4096, producer));
  ASSERT_CUDA_OK(cuda().event_record(event, producer));
  ASSERT_CUDA_OK(cuda().stream_wait_event(consumer, event, 0));
  ASSERT_CUDA_OK(cuda().event_destroy(event));
  EXPECT_EQ(download(device, 4096, consumer), std::vector<unsigned char>(4096, 9));
}

TEST_P(DriverContract, StreamsMayBeDestroyedWithWorkPending) {
  const cu::DevicePtr device = make_memory(4096);
  const cu::Event event = make_event();
  cu::Stream doomed = nullptr;
  ASSERT_CUDA_OK(cuda().stream_create(&doomed, cu::kStreamNonBlocking));
  keep_busy(doomed, kBusyMs);
  ASSERT_CUDA_OK(cuda().memset_d8_async(device, 3, 4096, doomed));
  ASSERT_CUDA_OK(cuda().event_record(event, doomed));
  ASSERT_CUDA_OK(cuda().stream_destroy(doomed));  // returns at once; the work still runs
  EXPECT_EQ(cuda().event_query(event), cu::kNotReady);
  ASSERT_CUDA_OK(cuda().event_synchronize(event));
  EXPECT_EQ(download(device, 4096, make_stream()), std::vector<unsigned char>(4096, 3));
}

TEST_P(DriverContract, ElapsedTimeIsWhatLiesBetween) {
  const cu::Stream stream = make_stream();
  const cu::Event start = make_event(cu::kEventDefault);
  const cu::Event end = make_event(cu::kEventDefault);
  float elapsed_ms = -1;
  EXPECT_EQ(cuda().event_elapsed_time(&elapsed_ms, start, end), cu::kInvalidHandle);  // never recorded
  (void)kernels();  // loading them takes time that is not to be measured
  ASSERT_CUDA_OK(cuda().event_record(start, stream));
  keep_busy(stream, kBusyMs);
  ASSERT_CUDA_OK(cuda().event_record(end, stream));
  EXPECT_EQ(cuda().event_elapsed_time(&elapsed_ms, start, end), cu::kNotReady);
  ASSERT_CUDA_OK(cuda().event_synchronize(end));
  ASSERT_CUDA_OK(cuda().event_elapsed_time(&elapsed_ms, start, end));
  EXPECT_GE(elapsed_ms, 0.98f * kBusyMs);  // the card's clock ticks in steps
  EXPECT_LE(elapsed_ms, 10.0f * kBusyMs);
}

TEST_P(DriverContract, EventsWithoutTimingHaveNoTime) {
  const cu::Stream stream = make_stream();
  const cu::Event start = make_event();
  const cu::Event end = make_event();
  ASSERT_CUDA_OK(cuda().event_record(start, stream));
  ASSERT_CUDA_OK(cuda().event_record(end, stream));
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  float elapsed_ms = 0;
  EXPECT_EQ(cuda().event_elapsed_time(&elapsed_ms, start, end), cu::kInvalidHandle);
}

TEST_P(DriverContract, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  const cu::Stream blocking = make_stream(cu::kStreamDefault);
  const cu::Stream free_running = make_stream(cu::kStreamNonBlocking);
  const cu::DevicePtr device = make_memory(4096);
  (void)kernels();
  keep_busy(blocking, kBusyMs);
  keep_busy(free_running, 8 * kBusyMs);
  ASSERT_CUDA_OK(cuda().memset_d8_async(device, 1, 4096, nullptr));
  ASSERT_CUDA_OK(cuda().stream_synchronize(nullptr));
  EXPECT_CUDA_OK(cuda().stream_query(blocking));
  EXPECT_EQ(cuda().stream_query(free_running), cu::kNotReady);
}

}  // namespace tidegate::contract
