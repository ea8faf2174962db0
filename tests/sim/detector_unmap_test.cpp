// Rule H-4 (C-3, L-9): memory that goes away under work, or without proof that the work is over.
#include "tests/sim/detector_fixture.h"

namespace tidegate::sim {
namespace {

class SimUnmapInUse : public SimDetectors {};

TEST_F(SimUnmapInUse, H4C3L9UnmapUnderRunningWorkIsAnIllegalAddress) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame, 1000, on));
  EXPECT_OK(cuda().mem_unmap(va, kFrame));  // the call itself succeeds
  EXPECT_EQ(hits("H-4"), 1u);
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(cuda().stream_query(on), cu::kIllegalAddress);
  const Hazard found = machine_.hazards().list().front();
  EXPECT_EQ(found.call, "mem_unmap");
  EXPECT_EQ(found.process, process_->id());
  EXPECT_EQ(found.call_index, process_->stats().total_calls - 2);
}

TEST_F(SimUnmapInUse, H4UnmapUnderQueuedWorkFailsWhenTheWorkStarts) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(0, 0, 1000, on));
  ASSERT_OK(work(va, kFrame, 1000, on));
  EXPECT_OK(cuda().mem_unmap(va, kFrame));
  EXPECT_EQ(hits("H-4"), 1u);
  EXPECT_EQ(cuda().stream_query(on), cu::kNotReady);
  pass(1000);
  EXPECT_EQ(cuda().stream_query(on), cu::kIllegalAddress);
  EXPECT_EQ(hits("UNMAPPED"), 0u);  // told once
}

TEST_F(SimUnmapInUse, H4UnmapAfterUnseenCompletionIsAnExposure) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame, 1000, on));
  pass(5000);  // over, but nobody asked
  EXPECT_OK(cuda().mem_unmap(va, kFrame));
  EXPECT_EQ(hits("H-4"), 0u);
  EXPECT_EQ(exposures("H-4"), 1u);
  EXPECT_OK(cuda().stream_query(on));
}

TEST_F(SimUnmapInUse, H4AnyProofWillDo) {
  enum Proof { kStreamQuery, kStreamSync, kEventQuery, kEventSync, kContextSync, kEventOfAWaitingStream };
  for (const Proof proof : {kStreamQuery, kStreamSync, kEventQuery, kEventSync, kContextSync, kEventOfAWaitingStream}) {
    const cu::Stream on = stream();
    const cu::Stream other = stream();
    const cu::Event done = event();
    cu::MemHandle handle = 0;
    const cu::DevicePtr va = frame(&handle);
    ASSERT_OK(work(va, kFrame, 1000, on));
    ASSERT_OK(cuda().event_record(done, on));
    if (proof == kEventOfAWaitingStream) {
      ASSERT_OK(cuda().stream_wait_event(other, done, 0));
      ASSERT_OK(cuda().event_record(done, other));
    }
    if (proof == kStreamSync) {
      ASSERT_OK(cuda().stream_synchronize(on));
    }
    if (proof == kEventSync) {
      ASSERT_OK(cuda().event_synchronize(done));
    }
    if (proof == kContextSync) {
      ASSERT_OK(cuda().ctx_synchronize());
    }
    pass(1000);
    if (proof == kStreamQuery) {
      ASSERT_OK(cuda().stream_query(on));
    }
    if (proof == kEventQuery || proof == kEventOfAWaitingStream) {
      ASSERT_OK(cuda().event_query(done));
    }
    ASSERT_OK(cuda().mem_unmap(va, kFrame));
    ASSERT_OK(cuda().mem_release(handle));
    expect_clean();
  }
}

TEST_F(SimUnmapInUse, H4AnEarlierRecordIsNoProof) {
  const cu::Stream on = stream();
  const cu::Event done = event();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().event_record(done, on));
  ASSERT_OK(work(va, kFrame, 1000, on));
  pass(5000);
  ASSERT_OK(cuda().event_query(done));
  ASSERT_OK(cuda().mem_unmap(va, kFrame));
  EXPECT_EQ(exposures("H-4"), 1u);
}

TEST_F(SimUnmapInUse, H4FreeingUnderWork) {
  const cu::Stream on = stream();
  const cu::DevicePtr big = memory(4 * kMiB);
  ASSERT_OK(cuda().memset_d8_async(big, 1, 4 * kMiB, on));
  ASSERT_OK(cuda().mem_free(big));
  EXPECT_EQ(hits("H-4"), 1u);
}

// The handle keeps the memory: releasing it frees nothing while it is mapped.
TEST_F(SimUnmapInUse, H4ReleasingAMappedHandleIsHarmless) {
  const cu::Stream on = stream();
  cu::MemHandle handle = 0;
  const cu::DevicePtr va = frame(&handle);
  ASSERT_OK(work(va, kFrame, 1000, on));
  ASSERT_OK(cuda().mem_release(handle));
  ASSERT_OK(cuda().stream_synchronize(on));
  ASSERT_OK(cuda().mem_unmap(va, kFrame));
  expect_clean();
}

TEST_F(SimUnmapInUse, H4WorkThroughAnotherMappingIsNotDisturbed) {
  const cu::Stream on = stream();
  cu::MemHandle handle = 0;
  const cu::DevicePtr first = frame(&handle);
  const cu::DevicePtr second = reserve(kFrame);
  map(second, kFrame, handle);
  ASSERT_OK(work(first, kFrame, 1000, on));
  ASSERT_OK(cuda().mem_unmap(second, kFrame));
  ASSERT_OK(cuda().stream_synchronize(on));
  expect_clean();
}

}  // namespace
}  // namespace tidegate::sim
