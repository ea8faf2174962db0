// What is counted of a program beside its calls.
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

class StatsTest : public SimTest {
 protected:
  static constexpr Bytes kFrame = 4 * kMiB;

  cu::MemHandle create() {
    const cu::MemProp wanted = prop();
    cu::MemHandle handle = 0;
    EXPECT_OK(cuda().mem_create(&handle, kFrame, &wanted, 0));
    return handle;
  }
  void map(cu::DevicePtr at, cu::MemHandle handle) { EXPECT_OK(cuda().mem_map(at, kFrame, 0, handle, 0)); }
  void unmap(cu::DevicePtr at) { EXPECT_OK(cuda().mem_unmap(at, kFrame)); }
};

TEST_F(StatsTest, MapsAtUsedAddressesAreCounted) {
  cu::DevicePtr range = 0;
  ASSERT_OK(cuda().mem_address_reserve(&range, 4 * kFrame, 0, 0, 0));
  const cu::MemHandle first = create();
  map(range, first);
  map(range + kFrame, create());
  EXPECT_EQ(process_->stats().remaps, 0u);
  unmap(range);
  map(range, first);  // the same memory counts as well: the address is what is used again
  EXPECT_EQ(process_->stats().remaps, 1u);
  EXPECT_EQ(process_->stats().remapped, kFrame);
  unmap(range);
  unmap(range + kFrame);
  // Half of it on addresses that were used, half on fresh ones.
  map(range + kFrame + kFrame / 2, first);
  EXPECT_EQ(process_->stats().remaps, 2u);
  EXPECT_EQ(process_->stats().remapped, kFrame + kFrame / 2);
}

TEST_F(StatsTest, AddressesThatWereOnlyReservedAreNotUsed) {
  cu::DevicePtr range = 0;
  ASSERT_OK(cuda().mem_address_reserve(&range, kFrame, 0, 0, 0));
  ASSERT_OK(cuda().mem_address_free(range, kFrame));
  ASSERT_OK(cuda().mem_address_reserve(&range, kFrame, 0, range, 0));
  map(range, create());
  EXPECT_EQ(process_->stats().remaps, 0u);
}

class TaggedCopies : public SimTest {
 protected:
  TaggedCopies() : SimTest(plain_profile(), MachineOptions{.tags_from = 4 * kKiB}) {}
};

TEST_F(TaggedCopies, LargeOnesNeverReadTheHost) {
  const cu::DevicePtr at = memory(kMiB);
  const auto* nowhere = reinterpret_cast<const void*>(std::uintptr_t{1} << 46);  // NOLINT: no memory is there
  const cu::Stream s = stream();
  ASSERT_OK(cuda().memcpy_htod_async(at, nowhere, kMiB, s));
  ASSERT_OK(cuda().stream_synchronize(s));
  EXPECT_EQ(machine_.hazards().text(), "");  // written: a kernel may read it
  EXPECT_EQ(process_->stats().copied_h2d, kMiB);
}

TEST_F(TaggedCopies, SmallOnesCarryBytes) {
  const cu::DevicePtr at = memory(kMiB);
  unsigned char* host = pinned(64);
  const cu::Stream s = stream();
  ASSERT_OK(cuda().memcpy_htod_async(at, host, 64, s));
  unsigned char* back = pinned(64);
  ASSERT_OK(cuda().memcpy_dtoh_async(back, at, 64, s));
  ASSERT_OK(cuda().stream_synchronize(s));
  EXPECT_EQ(back[63], 0x11);
  EXPECT_EQ(machine_.hazards().text(), "");
}

}  // namespace
}  // namespace tidegate::sim
