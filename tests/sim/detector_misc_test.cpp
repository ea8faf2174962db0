// Rules UNWRITTEN, NEVER-RECORDED, UNMAPPED, TAG-READ, HOST-FREE: a program that breaks each, and one that keeps it.
#include "tests/sim/detector_fixture.h"

namespace tidegate::sim {
namespace {

class SimMisuse : public SimDetectors {};

TEST_F(SimMisuse, NeverWrittenBytesAreNotRead) {
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

TEST_F(SimMisuse, AllocatedAgainIsUnwrittenAgain) {
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

TEST_F(SimMisuse, WaitingForANeverRecordedEventWaitsForNothing) {
  const cu::Stream on = stream();
  const cu::Event never = event();
  ASSERT_OK(cuda().stream_wait_event(on, never, 0));
  EXPECT_EQ(hits("NEVER-RECORDED"), 1u);
  EXPECT_OK(cuda().stream_query(on));
  ASSERT_OK(cuda().event_record(never, on));
  ASSERT_OK(cuda().stream_wait_event(on, never, 0));
  EXPECT_EQ(hits("NEVER-RECORDED"), 1u);
}

TEST_F(SimMisuse, KernelsOutsideOfMappedMemoryFault) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(work(va, kFrame + 1, 1000, on));
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(hits("UNMAPPED"), 1u);
}

TEST_F(SimMisuse, AMappingStartsWithoutAccess) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = reserve(kFrame);
  ASSERT_OK(cuda().mem_map(va, kFrame, 0, create(kFrame), 0));
  ASSERT_OK(work(va, 1, 1000, on));
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(hits("UNMAPPED"), 1u);
}

TEST_F(SimMisuse, ReadOnlyMemoryIsNotWritten) {
  const cu::Stream on = stream();
  const cu::DevicePtr va = frame();
  ASSERT_OK(set_access(va, kFrame, cu::kAccessRead));
  ASSERT_OK(work(va, kFrame, 1000, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(cuda().memset_d8_async(va, 1, kFrame, on), cu::kInvalidValue);
  expect_clean();
  ASSERT_OK(kernels().launch_checksum(cuda(), va, 8, va + 8, on));
  EXPECT_EQ(cuda().stream_synchronize(on), cu::kIllegalAddress);
  EXPECT_EQ(hits("UNMAPPED"), 1u);
}

TEST_F(SimMisuse, CopiesToUnmappedAddressesAreRefusedAtOnce) {
  const cu::Stream on = stream();
  EXPECT_EQ(cuda().memcpy_htod_async(reserve(kFrame), pinned(8), 8, on), cu::kInvalidValue);
  EXPECT_EQ(cuda().memset_d8_async(12345, 0, 8, on), cu::kInvalidValue);
  expect_clean();
}

TEST_F(SimMisuse, TagsDoNotReachTheHost) {
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

TEST_F(SimMisuse, HostMemoryIsKeptUntilItsCopiesAreOver) {
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
