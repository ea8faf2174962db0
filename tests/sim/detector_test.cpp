// Each rule of the detectors, with a program that breaks it and one that keeps it.
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

class SimDetectors : public SimTest {
 protected:
  static constexpr Bytes kFrame = 2 * kMiB;

  // A mapped frame whose bytes are written, and known to be.
  cu::DevicePtr frame(cu::MemHandle* handle = nullptr) {
    std::vector<cu::MemHandle> handles;
    const cu::DevicePtr va = arena(kFrame, 1, &handles);
    if (handle != nullptr) *handle = handles[0];
    const cu::Stream on = stream();
    EXPECT_OK(cuda().memset_d8_async(va, 0, kFrame, on));
    EXPECT_OK(cuda().stream_synchronize(on));
    return va;
  }
};

// --- H-4, C-3, L-9 ---

TEST_F(SimDetectors, H4C3L9UnmapUnderRunningWorkIsAnIllegalAddress) {
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

TEST_F(SimDetectors, H4UnmapUnderQueuedWorkFailsWhenTheWorkStarts) {
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

TEST_F(SimDetectors, H4UnmapAfterUnseenCompletionIsAnExposure) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame, 1000, on));
  pass(5000);  // over, but nobody asked
  EXPECT_OK(cuda().mem_unmap(va, kFrame));
  EXPECT_EQ(hits("H-4"), 0u);
  EXPECT_EQ(exposures("H-4"), 1u);
  EXPECT_OK(cuda().stream_query(on));
}

TEST_F(SimDetectors, H4AnyProofWillDo) {
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

TEST_F(SimDetectors, H4AnEarlierRecordIsNoProof) {
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

TEST_F(SimDetectors, H4FreeingUnderWork) {
  const cu::Stream on = stream();
  const cu::DevicePtr big = memory(4 * kMiB);
  ASSERT_OK(cuda().memset_d8_async(big, 1, 4 * kMiB, on));
  ASSERT_OK(cuda().mem_free(big));
  EXPECT_EQ(hits("H-4"), 1u);
}

// The handle keeps the memory: releasing it frees nothing while it is mapped.
TEST_F(SimDetectors, H4ReleasingAMappedHandleIsHarmless) {
  const cu::Stream on = stream();
  cu::MemHandle handle = 0;
  const cu::DevicePtr va = frame(&handle);
  ASSERT_OK(work(va, kFrame, 1000, on));
  ASSERT_OK(cuda().mem_release(handle));
  ASSERT_OK(cuda().stream_synchronize(on));
  ASSERT_OK(cuda().mem_unmap(va, kFrame));
  expect_clean();
}

TEST_F(SimDetectors, H4WorkThroughAnotherMappingIsNotDisturbed) {
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

// --- RACE ---

TEST_F(SimDetectors, RaceBetweenStreams) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().memset_d8_async(va, 1, 1000, a));
  ASSERT_OK(work(va + 999, 1, 1000, b));
  EXPECT_EQ(hits("RACE"), 1u);
  ASSERT_OK(work(va + 1000, 1, 1000, b));  // its neighbour is nobody else's
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimDetectors, RaceOfAWriteWithAnEarlierRead) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame, 1000, a));
  ASSERT_OK(work(va, kFrame, 1000, b));  // two readers are fine
  EXPECT_EQ(hits("RACE"), 0u);
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, b));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimDetectors, EventsOrder) {
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

TEST_F(SimDetectors, AnEventRecordedTooEarlyDoesNotOrder) {
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

TEST_F(SimDetectors, AFailedQueryDoesNotOrderASuccessfulOneDoes) {
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

TEST_F(SimDetectors, TheDefaultStreamOrdersBlockingStreamsOnly) {
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

TEST_F(SimDetectors, ChecksumsMayAddToOneSum) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(kernels().launch_checksum(cuda(), va, 1024, va + kMiB, a));
  ASSERT_OK(kernels().launch_checksum(cuda(), va, 1024, va + kMiB, b));
  EXPECT_EQ(hits("RACE"), 0u);
  ASSERT_OK(work(va + kMiB, 8, 1000, stream()));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimDetectors, ARecycledFrameCarriesItsHistoryToItsNewAddress) {
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

TEST_F(SimDetectors, ADestroyedStreamsWorkIsStillUnordered) {
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

TEST_F(SimDetectors, OverlappingCopiesOnTheCardAreRaces) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(cuda().memcpy_dtod_async(va + 1000, va, 1000, on));
  EXPECT_EQ(hits("RACE"), 0u);
  ASSERT_OK(cuda().memcpy_dtod_async(va + 999, va, 1000, on));
  EXPECT_EQ(hits("RACE"), 1u);
}

// --- UNWRITTEN, NEVER-RECORDED, UNMAPPED, TAG-READ, HOST-FREE ---

TEST_F(SimDetectors, NeverWrittenBytesAreNotRead) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = arena(kFrame, 1);
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame - 1, on));
  ASSERT_OK(work(va, kFrame - 1, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(hits("UNWRITTEN"), 0u);
  ASSERT_OK(work(va, kFrame, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(hits("UNWRITTEN"), 1u);
  ASSERT_OK(cuda().memcpy_dtoh_async(pinned(1), va + kFrame - 1, 1, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(hits("UNWRITTEN"), 2u);
}

TEST_F(SimDetectors, AllocatedAgainIsUnwrittenAgain) {
  const cu::Stream on = stream();
  const cu::DevicePtr a = memory(512);
  const cu::DevicePtr keep = memory(512);
  ASSERT_OK(cuda().memset_d8_async(a, 1, 512, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  ASSERT_OK(cuda().mem_free(a));
  ASSERT_EQ(memory(512), a);
  ASSERT_OK(work(a, 512, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(hits("UNWRITTEN"), 1u);
  ASSERT_OK(cuda().mem_free(keep));
}

TEST_F(SimDetectors, WaitingForANeverRecordedEventWaitsForNothing) {
  const cu::Stream on = stream();
  const cu::Event never = event();
  ASSERT_OK(cuda().stream_wait_event(on, never, 0));
  EXPECT_EQ(hits("NEVER-RECORDED"), 1u);
  EXPECT_OK(cuda().stream_query(on));
  ASSERT_OK(cuda().event_record(never, on));
  ASSERT_OK(cuda().stream_wait_event(on, never, 0));
  EXPECT_EQ(hits("NEVER-RECORDED"), 1u);
}

TEST_F(SimDetectors, KernelsOutsideOfMappedMemoryFault) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame + 1, 1000, on));
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(hits("UNMAPPED"), 1u);
}

TEST_F(SimDetectors, AMappingStartsWithoutAccess) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = reserve(kFrame);
  ASSERT_OK(cuda().mem_map(va, kFrame, 0, create(kFrame), 0));
  ASSERT_OK(work(va, 1, 1000, on));
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(hits("UNMAPPED"), 1u);
}

TEST_F(SimDetectors, ReadOnlyMemoryIsNotWritten) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(set_access(va, kFrame, cu::kAccessRead));
  ASSERT_OK(work(va, kFrame, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  expect_clean();
  ASSERT_OK(cuda().memset_d8_async(va, 1, kFrame, on));
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(hits("UNMAPPED"), 1u);
}

TEST_F(SimDetectors, CopiesToUnmappedAddressesAreRefusedAtOnce) {
  const cu::Stream on = stream();
  EXPECT_EQ(cuda().memcpy_htod_async(reserve(kFrame), pinned(8), 8, on), cu::kInvalidValue);
  EXPECT_EQ(cuda().memset_d8_async(12345, 0, 8, on), cu::kInvalidValue);
  expect_clean();
}

TEST_F(SimDetectors, TagsDoNotReachTheHost) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  std::vector<unsigned char> stand_in(1000);
  ASSERT_TRUE(machine_.declare_tagged_host(stand_in.data(), stand_in.size(), 5));
  unsigned char* back = pinned(1000);
  ASSERT_OK(cuda().memcpy_htod_async(va, stand_in.data(), 1000, on));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, va, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(hits("TAG-READ"), 1u);
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(cuda().memcpy_dtoh_async(stand_in.data(), va, 1000, on), cu::kInvalidValue);
}

TEST_F(SimDetectors, HostMemoryIsKeptUntilItsCopiesAreOver) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  unsigned char* early = pinned(1000);
  unsigned char* late = pinned(1000);
  ASSERT_OK(cuda().memcpy_htod_async(va, early, 1000, on));
  ASSERT_OK(cuda().mem_free_host(early));
  EXPECT_EQ(hits("HOST-FREE"), 1u);
  EXPECT_OK(cuda().stream_query(on));  // the free waited
  ASSERT_OK(cuda().memcpy_htod_async(va, late, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  ASSERT_OK(cuda().mem_free_host(late));
  EXPECT_EQ(hits("HOST-FREE"), 1u);
}

MachineOptions blind() {
  MachineOptions options;
  options.detect = false;
  return options;
}

class SimBlind : public SimTest {
 protected:
  SimBlind() : SimTest(plain_profile(), blind()) {}
};

TEST_F(SimBlind, WithoutDetectionOnlyFaultsAreFound) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  const cu::DevicePtr va = arena(2 * kMiB, 1);
  ASSERT_OK(work(va, 8, 1000, a));
  ASSERT_OK(cuda().memset_d8_async(va, 1, 8, b));
  pass(base::kSecond);
  expect_clean();
  ASSERT_OK(work(va, 8, 1000, a));
  ASSERT_OK(cuda().mem_unmap(va, 2 * kMiB));
  EXPECT_EQ(hits("H-4"), 1u);
}

}  // namespace
}  // namespace tidegate::sim
