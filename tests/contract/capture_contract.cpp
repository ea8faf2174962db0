// Stream capture: what is recorded instead of run, and what destroys a capture.
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {
namespace {

// Sets the calling thread's capture mode for a scope.
class ModeScope {
 public:
  ModeScope(driver::Driver& driver, cu::CaptureMode mode) : driver_(driver), mode_(mode) { exchange(); }
  ~ModeScope() { exchange(); }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  void exchange() { EXPECT_CUDA_OK(driver_.thread_exchange_stream_capture_mode(&mode_)); }
  driver::Driver& driver_;
  cu::CaptureMode mode_;
};

cu::CaptureStatus capture_status(driver::Driver& driver, cu::Stream stream) {
  cu::CaptureStatus status = cu::kCaptureNone;
  EXPECT_CUDA_OK(driver.stream_is_capturing(stream, &status));
  return status;
}

}  // namespace

TEST_P(DriverContract, ModesAreSwappedPerThread) {
  cu::CaptureMode mode = cu::kCaptureRelaxed;
  ASSERT_CUDA_OK(cuda().thread_exchange_stream_capture_mode(&mode));
  EXPECT_EQ(mode, cu::kCaptureGlobal);  // every thread begins with it
  run_threads({[this] {
    cu::CaptureMode theirs = cu::kCaptureThreadLocal;
    EXPECT_CUDA_OK(cuda().thread_exchange_stream_capture_mode(&theirs));
    EXPECT_EQ(theirs, cu::kCaptureGlobal);
  }});
  ASSERT_CUDA_OK(cuda().thread_exchange_stream_capture_mode(&mode));
  EXPECT_EQ(mode, cu::kCaptureRelaxed);
}

TEST_P(DriverContract, CapturedWorkDoesNotRun) {
  const cu::Stream stream = make_stream();
  const cu::DevicePtr device = make_memory(4096);
  upload(device, std::vector<unsigned char>(4096, 1), stream);
  EXPECT_EQ(capture_status(cuda(), stream), cu::kCaptureNone);
  ASSERT_CUDA_OK(cuda().stream_begin_capture(stream, cu::kCaptureRelaxed));
  EXPECT_EQ(capture_status(cuda(), stream), cu::kCaptureActive);
  EXPECT_CUDA_OK(cuda().memset_d8_async(device, 2, 4096, stream));
  cu::Graph graph = nullptr;
  ASSERT_CUDA_OK(cuda().stream_end_capture(stream, &graph));
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(capture_status(cuda(), stream), cu::kCaptureNone);
  EXPECT_CUDA_OK(cuda().graph_destroy(graph));
  EXPECT_EQ(download(device, 4096, stream), std::vector<unsigned char>(4096, 1));
}

TEST_P(DriverContract, ACapturingStreamBeginsNoSecondCapture) {
  const cu::Stream stream = make_stream();
  ASSERT_CUDA_OK(cuda().stream_begin_capture(stream, cu::kCaptureRelaxed));
  EXPECT_CUDA_FAILS(cuda().stream_begin_capture(stream, cu::kCaptureRelaxed));
  cu::Graph graph = nullptr;
  (void)cuda().stream_end_capture(stream, &graph);  // whether the first one survives is not promised
  if (graph != nullptr) {
    EXPECT_CUDA_OK(cuda().graph_destroy(graph));
  }
}

TEST_P(DriverContract, TheDefaultStreamDoesNotCapture) {
  EXPECT_CUDA_FAILS(cuda().stream_begin_capture(nullptr, cu::kCaptureRelaxed));
}

TEST_P(DriverContract, EndWithoutBeginFails) {
  cu::Graph graph = nullptr;
  EXPECT_CUDA_FAILS(cuda().stream_end_capture(make_stream(), &graph));
}

TEST_P(DriverContract, QueryingACapturingStreamInvalidatesTheCapture) {
  const cu::Stream stream = make_stream();
  ASSERT_CUDA_OK(cuda().stream_begin_capture(stream, cu::kCaptureRelaxed));
  EXPECT_EQ(cuda().stream_query(stream), cu::kStreamCaptureUnsupported);
  EXPECT_EQ(capture_status(cuda(), stream), cu::kCaptureInvalidated);
  cu::Graph graph = nullptr;
  EXPECT_EQ(cuda().stream_end_capture(stream, &graph), cu::kStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_CUDA_OK(cuda().stream_query(stream));  // usable again
}

// In the default mode an event query that has nothing to do with the capture is refused and destroys it.
TEST_P(DriverContract, AForeignQueryInGlobalModeInvalidatesTheCapture) {
  const cu::Stream capturing = make_stream();
  const cu::Stream other = make_stream();
  const cu::Event event = make_event();
  ASSERT_CUDA_OK(cuda().event_record(event, other));
  ASSERT_CUDA_OK(cuda().stream_synchronize(other));
  ASSERT_CUDA_OK(cuda().stream_begin_capture(capturing, cu::kCaptureGlobal));
  run_threads({[&] {
    EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
    EXPECT_EQ(cuda().event_query(event), cu::kStreamCaptureUnsupported);
  }});
  cu::Graph graph = nullptr;
  EXPECT_EQ(cuda().stream_end_capture(capturing, &graph), cu::kStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
}

// What keeps the threads of a pager harmless.
TEST_P(DriverContract, AForeignThreadInRelaxedModeLeavesTheCaptureAlone) {
  const cu::Stream capturing = make_stream();
  const cu::Stream other = make_stream();
  const cu::Event event = make_event();
  const cu::DevicePtr device = make_memory(4096);
  ASSERT_CUDA_OK(cuda().event_record(event, other));
  ASSERT_CUDA_OK(cuda().stream_synchronize(other));
  ASSERT_CUDA_OK(cuda().stream_begin_capture(capturing, cu::kCaptureGlobal));
  run_threads({[&] {
    EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
    const ModeScope relaxed(cuda(), cu::kCaptureRelaxed);
    EXPECT_CUDA_OK(cuda().event_query(event));
    EXPECT_CUDA_OK(cuda().stream_query(other));
    void* pinned = nullptr;
    EXPECT_CUDA_OK(cuda().mem_host_alloc(&pinned, 4096, 0));
    EXPECT_CUDA_OK(cuda().mem_free_host(pinned));
    EXPECT_CUDA_OK(cuda().memset_d8_async(device, 1, 4096, other));
  }});
  EXPECT_EQ(capture_status(cuda(), capturing), cu::kCaptureActive);
  cu::Graph graph = nullptr;
  ASSERT_CUDA_OK(cuda().stream_end_capture(capturing, &graph));
  EXPECT_CUDA_OK(cuda().graph_destroy(graph));
}

TEST_P(DriverContract, AForeignThreadDoesNotDisturbAThreadLocalCapture) {
  const cu::Stream capturing = make_stream();
  const cu::Stream other = make_stream();
  const cu::Event event = make_event();
  ASSERT_CUDA_OK(cuda().event_record(event, other));
  ASSERT_CUDA_OK(cuda().stream_synchronize(other));
  ASSERT_CUDA_OK(cuda().stream_begin_capture(capturing, cu::kCaptureThreadLocal));
  run_threads({[&] {
    EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
    EXPECT_CUDA_OK(cuda().event_query(event));
  }});
  cu::Graph graph = nullptr;
  ASSERT_CUDA_OK(cuda().stream_end_capture(capturing, &graph));
  EXPECT_CUDA_OK(cuda().graph_destroy(graph));
}

// Even relaxed, an event that was recorded inside a capture cannot be asked.
TEST_P(DriverContract, CapturedEventsCannotBeQueried) {
  const cu::Stream stream = make_stream();
  const cu::Event event = make_event();
  const ModeScope relaxed(cuda(), cu::kCaptureRelaxed);
  ASSERT_CUDA_OK(cuda().stream_begin_capture(stream, cu::kCaptureRelaxed));
  ASSERT_CUDA_OK(cuda().event_record(event, stream));
  EXPECT_EQ(cuda().event_query(event), cu::kCapturedEvent);
  cu::Graph graph = nullptr;
  (void)cuda().stream_end_capture(stream, &graph);
  if (graph != nullptr) {
    EXPECT_CUDA_OK(cuda().graph_destroy(graph));
  }
}

TEST_P(DriverContract, ACaptureSpreadsThroughEvents) {
  const cu::Stream origin = make_stream();
  const cu::Stream joined = make_stream();
  const cu::Event fork = make_event();
  const cu::Event join = make_event();
  ASSERT_CUDA_OK(cuda().stream_begin_capture(origin, cu::kCaptureRelaxed));
  ASSERT_CUDA_OK(cuda().event_record(fork, origin));
  ASSERT_CUDA_OK(cuda().stream_wait_event(joined, fork, 0));
  EXPECT_EQ(capture_status(cuda(), joined), cu::kCaptureActive);
  ASSERT_CUDA_OK(cuda().event_record(join, joined));
  ASSERT_CUDA_OK(cuda().stream_wait_event(origin, join, 0));
  cu::Graph graph = nullptr;
  ASSERT_CUDA_OK(cuda().stream_end_capture(origin, &graph));
  EXPECT_EQ(capture_status(cuda(), joined), cu::kCaptureNone);
  EXPECT_CUDA_OK(cuda().graph_destroy(graph));
}

}  // namespace tidegate::contract
