// Errors: sticky ones (C-4), modules, captures.
#include <thread>

#include "sim/machine.h"
#include "src/base/thread_executor.h"
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

class SimErrors : public SimTest {};

TEST_F(SimErrors, C4StickyErrorsAnswerEverything) {
  const cu::Stream on = stream();
  const cu::Stream other = stream();
  const cu::Event done = event();
  ASSERT_OK(cuda().event_record(done, other));
  ASSERT_OK(work(1, 1, 1000, on));  // nothing is mapped there
  cu::DevicePtr ptr = 0;
  void* host = nullptr;
  std::size_t free = 0;
  std::size_t total = 0;
  cu::Event made = nullptr;
  EXPECT_EQ(cuda().ctx_synchronize(), cu::kIllegalAddress);
  EXPECT_EQ(cuda().mem_alloc(&ptr, 8), cu::kIllegalAddress);
  EXPECT_EQ(cuda().mem_host_alloc(&host, 8, 0), cu::kIllegalAddress);
  EXPECT_EQ(cuda().mem_get_info(&free, &total), cu::kIllegalAddress);
  EXPECT_EQ(cuda().event_create(&made, 0), cu::kIllegalAddress);
  EXPECT_EQ(cuda().event_query(done), cu::kIllegalAddress);
  EXPECT_EQ(cuda().stream_query(other), cu::kIllegalAddress);
  EXPECT_EQ(cuda().stream_synchronize(other), cu::kIllegalAddress);
  EXPECT_EQ(work(0, 0, 1, on), cu::kIllegalAddress);
  const cu::MemProp wanted = prop();
  cu::MemHandle handle = 0;
  EXPECT_EQ(cuda().mem_create(&handle, 2 * kMiB, &wanted, 0), cu::kIllegalAddress);
}

TEST_F(SimErrors, C4AnotherContextIsNotTouched) {
  cu::Context second = nullptr;
  ASSERT_OK(cuda().ctx_create(&second, 0, 0));
  const Bytes before = free_bytes();
  ASSERT_OK(cuda().ctx_pop_current(nullptr));
  ASSERT_OK(work(1, 1, 1000, stream()));
  EXPECT_EQ(cuda().ctx_synchronize(), cu::kIllegalAddress);
  ASSERT_OK(cuda().ctx_push_current(second));
  EXPECT_EQ(free_bytes(), before);
  ASSERT_OK(cuda().mem_free(memory(kMiB)));
  // And the failed one can be got rid of.
  EXPECT_OK(cuda().device_primary_ctx_release(0));
  EXPECT_EQ(free_bytes(), before + machine_.profile().context);
}

TEST_F(SimErrors, C4OutOfMemoryAndNotReadyAreNotSticky) {
  cu::DevicePtr ptr = 0;
  EXPECT_EQ(cuda().mem_alloc(&ptr, 100 * kGiB), cu::kOutOfMemory);
  const cu::Stream on = stream();
  ASSERT_OK(work(0, 0, 1000, on));
  EXPECT_EQ(cuda().stream_query(on), cu::kNotReady);
  ASSERT_OK(cuda().ctx_synchronize());
}

TEST_F(SimErrors, FailedWorkHasNoEffect) {
  const cu::Stream on = stream();
  unsigned char* host = pinned(8);
  const cu::DevicePtr va = memory(2 * kMiB);
  ASSERT_OK(cuda().memset_d8_async(va, 1, kMiB, on));
  ASSERT_OK(work(1, 1, 1000, on));
  ASSERT_OK(cuda().memcpy_dtoh_async(host, va, 8, on));  // behind the fault
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(host[0], 0x11);
  EXPECT_EQ(machine_.hazards().list().size(), 1u);
}

TEST_F(SimErrors, HandlesAreChecked) {
  const cu::Stream on = stream();
  const cu::Event done = event();
  ASSERT_OK(cuda().stream_destroy(on));
  ASSERT_OK(cuda().event_destroy(done));
  EXPECT_EQ(cuda().stream_destroy(on), cu::kInvalidHandle);
  EXPECT_EQ(cuda().stream_query(on), cu::kInvalidHandle);
  EXPECT_EQ(cuda().event_destroy(done), cu::kInvalidHandle);
  EXPECT_EQ(cuda().event_record(done, nullptr), cu::kInvalidHandle);
}

TEST_F(SimErrors, DestroyingAContextFreesWhatItHolds) {
  const Bytes before = machine_.used();
  cu::Context other = nullptr;
  ASSERT_OK(cuda().ctx_create(&other, 0, 0));
  (void)memory(100);
  (void)memory(10 * kMiB);
  const cu::Stream on = stream();
  ASSERT_OK(cuda().ctx_destroy(other));
  EXPECT_EQ(machine_.used(), before);
  EXPECT_EQ(cuda().stream_query(on), cu::kInvalidHandle);
  EXPECT_EQ(cuda().ctx_set_current(other), cu::kInvalidContext);
  expect_clean();
}

TEST_F(SimErrors, CallsBeforeInitAreRefused) {
  driver::Driver& fresh = machine_.start_process("fresh").driver();
  int count = 0;
  EXPECT_EQ(fresh.device_get_count(&count), cu::kNotInitialized);
  EXPECT_EQ(fresh.init(1), cu::kInvalidValue);
  EXPECT_OK(fresh.init(0));
  EXPECT_OK(fresh.device_get_count(&count));
  cu::DevicePtr ptr = 0;
  EXPECT_EQ(fresh.mem_alloc(&ptr, 8), cu::kInvalidContext);
}

TEST_F(SimErrors, ModulesLoadIfTheirEntriesAreBuiltIn) {
  cu::Module module = nullptr;
  EXPECT_OK(cuda().module_load_data(
      &module, ".version 8.0\n.target sm_80\n// .entry nonsense\n.visible .entry tidegate_work(\n"));
  EXPECT_TRUE(machine_.messages().empty());
  EXPECT_EQ(cuda().module_load_data(&module, ".version 8.0\n.target sm_80\n.visible .entry my_gemm(\n"),
            cu::kNoBinaryForGpu);
  EXPECT_EQ(cuda().module_load_data(&module, ".version 8.0\n.entry tidegate_work("), cu::kInvalidPtx);
  EXPECT_EQ(cuda().module_load_data(&module, "int main() {}"), cu::kInvalidImage);
  EXPECT_EQ(cuda().module_load_data(&module,
                                    "\x7f"
                                    "ELF\x02"),
            cu::kNoBinaryForGpu);
  EXPECT_EQ(cuda().module_load_data(&module, "\x50\xed\x55\xba"), cu::kNoBinaryForGpu);
  EXPECT_EQ(cuda().module_load_data(&module, "\x01\x02"), cu::kInvalidImage);
  EXPECT_EQ(cuda().module_load_data(&module, ""), cu::kInvalidImage);
  const std::vector<std::string> messages = machine_.messages();
  ASSERT_EQ(messages.size(), 7u);
  EXPECT_NE(messages[0].find("my_gemm"), std::string::npos);
}

// --- Capture ---

class SimCapture : public SimTest {
 protected:
  cu::Status end(cu::Stream on) {
    cu::Graph graph = nullptr;
    const cu::Status status = cuda().stream_end_capture(on, &graph);
    EXPECT_EQ(graph != nullptr, status == cu::kSuccess);
    if (graph != nullptr) {
      EXPECT_OK(cuda().graph_destroy(graph));
    }
    return status;
  }
};

TEST_F(SimCapture, UnsafeCallsDestroyAGlobalCapture) {
  const cu::Event done = event();
  ASSERT_OK(cuda().event_record(done, nullptr));
  const cu::Stream other = stream();
  void* host = nullptr;
  cu::DevicePtr ptr = 0;
  const std::vector<std::function<cu::Status()>> unsafe = {[&] { return cuda().event_query(done); },
                                                           [&] { return cuda().event_synchronize(done); },
                                                           [&] { return cuda().mem_host_alloc(&host, 8, 0); },
                                                           [&] { return cuda().mem_alloc(&ptr, 8); },
                                                           [&] { return cuda().stream_query(other); },
                                                           [&] { return cuda().stream_synchronize(other); },
                                                           [&] { return cuda().mem_alloc_async(&ptr, 8, other); }};
  const cu::Stream on = stream();
  for (const auto& call : unsafe) {
    ASSERT_OK(cuda().stream_begin_capture(on, cu::kCaptureGlobal));
    EXPECT_EQ(call(), cu::kStreamCaptureUnsupported);
    EXPECT_EQ(end(on), cu::kStreamCaptureInvalidated);
    ASSERT_OK(cuda().stream_begin_capture(on, cu::kCaptureGlobal));
    cu::CaptureMode mode = cu::kCaptureRelaxed;
    ASSERT_OK(cuda().thread_exchange_stream_capture_mode(&mode));
    EXPECT_OK(call());
    ASSERT_OK(cuda().thread_exchange_stream_capture_mode(&mode));
    EXPECT_OK(end(on));
  }
}

// What was seen to be harmless with driver 580.
TEST_F(SimCapture, MappingCallsAndReadingsLeaveACaptureAlone) {
  const cu::Stream on = stream();
  const cu::Event never = event();
  ASSERT_OK(cuda().stream_begin_capture(on, cu::kCaptureGlobal));
  const cu::MemHandle handle = create(2 * kMiB);
  const cu::DevicePtr va = reserve(2 * kMiB);
  map(va, 2 * kMiB, handle);
  EXPECT_OK(cuda().mem_unmap(va, 2 * kMiB));
  EXPECT_OK(cuda().mem_release(handle));
  (void)free_bytes();
  (void)stream();
  EXPECT_OK(cuda().event_record(event(), stream()));
  EXPECT_OK(cuda().stream_wait_event(on, never, 0));
  EXPECT_EQ(hits("NEVER-RECORDED"), 1u);
  EXPECT_EQ(cuda().stream_begin_capture(on, cu::kCaptureGlobal), cu::kIllegalState);
  EXPECT_OK(end(on));
}

TEST_F(SimCapture, ContextSynchroniseConflictsWithAnyCapture) {
  const cu::Stream on = stream();
  ASSERT_OK(cuda().stream_begin_capture(on, cu::kCaptureRelaxed));
  EXPECT_EQ(cuda().ctx_synchronize(), cu::kStreamCaptureUnsupported);
  EXPECT_EQ(end(on), cu::kStreamCaptureInvalidated);
}

TEST_F(SimCapture, TheDefaultStreamWouldDependOnABlockingCapture) {
  const cu::Stream on = stream(cu::kStreamDefault);
  const cu::DevicePtr ptr = memory(8);
  ASSERT_OK(cuda().stream_begin_capture(on, cu::kCaptureRelaxed));
  EXPECT_EQ(cuda().memset_d8_async(ptr, 0, 8, nullptr), cu::kStreamCaptureImplicit);
  EXPECT_EQ(end(on), cu::kStreamCaptureInvalidated);
  const cu::Stream free_running = stream(cu::kStreamNonBlocking);
  ASSERT_OK(cuda().stream_begin_capture(free_running, cu::kCaptureRelaxed));
  EXPECT_OK(cuda().memset_d8_async(ptr, 0, 8, nullptr));
  EXPECT_OK(end(free_running));
}

TEST_F(SimCapture, ForkedStreamsMustJoin) {
  const cu::Stream origin = stream();
  const cu::Stream forked = stream();
  const cu::Event fork = event();
  const cu::Event join = event();
  const cu::DevicePtr ptr = memory(8);
  for (const bool joins : {false, true}) {
    ASSERT_OK(cuda().stream_begin_capture(origin, cu::kCaptureRelaxed));
    ASSERT_OK(cuda().event_record(fork, origin));
    ASSERT_OK(cuda().stream_wait_event(forked, fork, 0));
    ASSERT_OK(cuda().memset_d8_async(ptr, 0, 8, forked));
    if (joins) {
      ASSERT_OK(cuda().event_record(join, forked));
      ASSERT_OK(cuda().stream_wait_event(origin, join, 0));
    }
    EXPECT_EQ(end(forked), cu::kStreamCaptureUnmatched);
    EXPECT_EQ(end(origin), joins ? cu::kSuccess : static_cast<cu::Status>(904));
  }
}

TEST_F(SimCapture, ACaptureDoesNotDependOnWorkOutsideOfIt) {
  const cu::Stream on = stream();
  const cu::Event outside = event();
  ASSERT_OK(cuda().event_record(outside, stream()));
  ASSERT_OK(cuda().stream_begin_capture(on, cu::kCaptureRelaxed));
  EXPECT_EQ(cuda().stream_wait_event(on, outside, 0), static_cast<cu::Status>(905));
  EXPECT_EQ(end(on), cu::kStreamCaptureInvalidated);
}

TEST_F(SimCapture, OtherThreadsEndRelaxedCapturesOnly) {
  for (const cu::CaptureMode mode : {cu::kCaptureThreadLocal, cu::kCaptureRelaxed}) {
    const cu::Stream on = stream();
    ASSERT_OK(cuda().stream_begin_capture(on, mode));
    executor_.run_threads({[&] {
      open(*process_);
      EXPECT_EQ(end(on), mode == cu::kCaptureRelaxed ? cu::kSuccess : static_cast<cu::Status>(908));
    }});
    if (mode != cu::kCaptureRelaxed) {
      EXPECT_OK(end(on));
    }
  }
}

// --- Real threads ---

TEST(SimThreads, ManyThreadsUseOneMachine) {
  base::ThreadExecutor executor;
  Machine machine(executor, 1);
  machine.add_card(load_profile("h200-linux").value());
  Process& first = machine.start_process("first");
  Process& second = machine.start_process("second");
  const auto use = [](driver::Driver& driver) {
    cu::Context context = nullptr;
    EXPECT_OK(driver.init(0));
    EXPECT_OK(driver.device_primary_ctx_retain(&context, 0));
    EXPECT_OK(driver.ctx_set_current(context));
    cu::Stream on = nullptr;
    EXPECT_OK(driver.stream_create(&on, cu::kStreamNonBlocking));
    cu::DevicePtr ptr = 0;
    EXPECT_OK(driver.mem_alloc(&ptr, 4 * kMiB));
    std::vector<unsigned char> host(100'000, 7);
    for (int round = 0; round < 20; ++round) {
      EXPECT_OK(driver.memcpy_htod_async(ptr, host.data(), host.size(), on));
      std::vector<unsigned char> back(host.size());
      EXPECT_OK(driver.memcpy_dtoh_async(back.data(), ptr, back.size(), on));
      EXPECT_OK(driver.stream_synchronize(on));
      EXPECT_EQ(back, host);
    }
    EXPECT_OK(driver.mem_free(ptr));
    EXPECT_OK(driver.stream_destroy(on));
    EXPECT_OK(driver.device_primary_ctx_release(0));
  };
  std::vector<std::thread> threads;
  for (Process* process : {&first, &first, &second, &second})
    threads.emplace_back([&, process] { use(process->driver()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(machine.used(), 0u);
  EXPECT_EQ(machine.hazards().total_hits(), 0u) << machine.hazards().text();
}

}  // namespace
}  // namespace tidegate::sim
