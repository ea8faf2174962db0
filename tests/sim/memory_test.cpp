// Memory under the linux personality: rules L-1, L-7, C-1, C-2 of the reference, pools (W-43), page-locked memory.
#include "tests/sim/sim_fixture.h"

namespace tidegate::sim {
namespace {

class SimMemory : public SimTest {};

TEST_F(SimMemory, L7MemoryIsCommittedAtOnceOrRefused) {
  const Bytes before = free_bytes();
  const cu::MemHandle handle = create(kGiB);
  EXPECT_EQ(free_bytes(), before - kGiB);  // unmapped, untouched
  const cu::MemProp wanted = prop();
  cu::MemHandle refused = 42;
  EXPECT_EQ(cuda().mem_create(&refused, round_down(before, 2 * kMiB), &wanted, 0), cu::kOutOfMemory);
  EXPECT_EQ(refused, 42u);
  cu::DevicePtr ptr = 42;
  EXPECT_EQ(cuda().mem_alloc(&ptr, before), cu::kOutOfMemory);
  EXPECT_EQ(ptr, 42u);
  EXPECT_EQ(free_bytes(), before - kGiB);
  EXPECT_OK(cuda().mem_release(handle));
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(SimMemory, L7ReleasedMemoryIsReusableWhenTheCallReturns) {
  const Bytes all = round_down(free_bytes(), 2 * kMiB);
  for (int i = 0; i < 3; ++i) EXPECT_OK(cuda().mem_release(create(all)));
}

// W-39, the same on Linux: bytes are free when the last mapping and the last handle are gone, in either order.
TEST_F(SimMemory, BytesAreFreeWhenMappingAndHandleAreGone) {
  const Bytes before = free_bytes();
  const cu::DevicePtr va = reserve(8 * kMiB);
  const cu::MemHandle first = create(4 * kMiB);
  map(va, 4 * kMiB, first);
  map(va + 4 * kMiB, 4 * kMiB, first);
  EXPECT_OK(cuda().mem_release(first));
  EXPECT_EQ(free_bytes(), before - 4 * kMiB);
  EXPECT_OK(cuda().mem_unmap(va, 4 * kMiB));
  EXPECT_EQ(free_bytes(), before - 4 * kMiB);
  EXPECT_OK(cuda().mem_unmap(va + 4 * kMiB, 4 * kMiB));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(cuda().mem_release(first), cu::kInvalidValue);
  expect_clean();
}

TEST_F(SimMemory, C2SizesAreMultiplesOfTwoMebibytes) {
  std::size_t grain = 0;
  const cu::MemProp wanted = prop();
  EXPECT_OK(cuda().mem_get_allocation_granularity(&grain, &wanted, cu::kGranularityMinimum));
  EXPECT_EQ(grain, 2 * kMiB);
  cu::MemHandle handle = 0;
  EXPECT_EQ(cuda().mem_create(&handle, 3 * kMiB, &wanted, 0), cu::kInvalidValue);
  cu::DevicePtr va = 0;
  EXPECT_EQ(cuda().mem_address_reserve(&va, 3 * kMiB, 0, 0, 0), cu::kInvalidValue);
  EXPECT_EQ(cuda().mem_address_reserve(&va, 2 * kMiB, 3, 0, 0), cu::kInvalidValue);
}

// Calls that make something fail without a trace of having been tried.
TEST_F(SimMemory, C1FailedCallsChangeNothing) {
  using driver::FunctionId;
  const Bytes before = free_bytes();
  const cu::MemProp wanted = prop();
  cu::MemHandle handle = 1;
  cu::DevicePtr va = 1;
  cu::DevicePtr ptr = 1;
  cu::Stream made_stream = nullptr;
  cu::Event made_event = nullptr;
  void* host = nullptr;
  for (const FunctionId id : {FunctionId::mem_create, FunctionId::mem_address_reserve, FunctionId::mem_alloc,
                              FunctionId::stream_create, FunctionId::event_create, FunctionId::mem_host_alloc}) {
    process_->fail_calls(id, cu::kOutOfMemory);
  }
  EXPECT_EQ(cuda().mem_create(&handle, 2 * kMiB, &wanted, 0), cu::kOutOfMemory);
  EXPECT_EQ(cuda().mem_address_reserve(&va, 2 * kMiB, 0, 0, 0), cu::kOutOfMemory);
  EXPECT_EQ(cuda().mem_alloc(&ptr, 2 * kMiB), cu::kOutOfMemory);
  EXPECT_EQ(cuda().stream_create(&made_stream, 0), cu::kOutOfMemory);
  EXPECT_EQ(cuda().event_create(&made_event, 0), cu::kOutOfMemory);
  EXPECT_EQ(cuda().mem_host_alloc(&host, 4096, 0), cu::kOutOfMemory);
  EXPECT_EQ(handle, 1u);
  EXPECT_EQ(va, 1u);
  EXPECT_EQ(ptr, 1u);
  EXPECT_EQ(made_stream, nullptr);
  EXPECT_EQ(host, nullptr);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_OK(cuda().mem_release(create(2 * kMiB)));  // the next one works
}

TEST_F(SimMemory, InjectedFailuresMaySkipAndRepeat) {
  process_->fail_calls(driver::FunctionId::mem_get_info, cu::kNotReady, 2, 1);
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_OK(cuda().mem_get_info(&free, &total));
  EXPECT_EQ(cuda().mem_get_info(&free, &total), cu::kNotReady);
  EXPECT_EQ(cuda().mem_get_info(&free, &total), cu::kNotReady);
  EXPECT_OK(cuda().mem_get_info(&free, &total));
}

TEST_F(SimMemory, AddressesAreNotHandedOutAgainAtOnce) {
  const cu::DevicePtr first = reserve(2 * kMiB);
  EXPECT_OK(cuda().mem_address_free(first, 2 * kMiB));
  EXPECT_NE(reserve(2 * kMiB), first);
  cu::DevicePtr wished = 0;
  EXPECT_OK(cuda().mem_address_reserve(&wished, 2 * kMiB, 0, first, 0));
  EXPECT_EQ(wished, first);
}

TEST_F(SimMemory, SmallAllocationsShareAChunk) {
  const Bytes before = free_bytes();
  const cu::DevicePtr a = memory(1);
  const cu::DevicePtr b = memory(1000);
  EXPECT_EQ(b - a, 512u);
  EXPECT_EQ(free_bytes(), before - 2 * kMiB);
  const cu::DevicePtr c = memory(kMiB + 1);
  EXPECT_EQ(free_bytes(), before - 4 * kMiB);  // rounded to a grain of its own
  EXPECT_OK(cuda().mem_free(a));
  EXPECT_EQ(memory(512), a);
  EXPECT_OK(cuda().mem_free(a));
  EXPECT_OK(cuda().mem_free(b));
  EXPECT_OK(cuda().mem_free(c));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(cuda().mem_free(c), cu::kInvalidValue);
}

TEST_F(SimMemory, W43PoolsGiveBackAtSynchroniseAboveTheirThreshold) {
  cu::MemPool pool = nullptr;
  ASSERT_OK(cuda().device_get_default_mem_pool(&pool, 0));
  const auto attribute = [&](cu::MemPoolAttribute which) {
    std::uint64_t value = 0;
    EXPECT_OK(cuda().mem_pool_get_attribute(pool, which, &value));
    return value;
  };
  const cu::Stream on = stream();
  const Bytes before = free_bytes();
  cu::DevicePtr ptr = 0;
  ASSERT_OK(cuda().mem_alloc_async(&ptr, 40 * kMiB, on));
  EXPECT_EQ(attribute(cu::kPoolUsedCurrent), 40 * kMiB);
  EXPECT_EQ(attribute(cu::kPoolReservedCurrent), 64 * kMiB);
  EXPECT_EQ(free_bytes(), before - 64 * kMiB);
  ASSERT_OK(cuda().mem_free_async(ptr, on));
  EXPECT_EQ(attribute(cu::kPoolUsedCurrent), 0u);
  EXPECT_EQ(free_bytes(), before - 64 * kMiB);  // kept until somebody synchronises
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(free_bytes(), before);

  std::uint64_t threshold = 64 * kMiB;
  ASSERT_OK(cuda().mem_pool_set_attribute(pool, cu::kPoolReleaseThreshold, &threshold));
  ASSERT_OK(cuda().mem_alloc_async(&ptr, 40 * kMiB, on));
  ASSERT_OK(cuda().mem_free_async(ptr, on));
  ASSERT_OK(cuda().ctx_synchronize());
  EXPECT_EQ(free_bytes(), before - 64 * kMiB);  // within the threshold
  ASSERT_OK(cuda().mem_pool_trim_to(pool, 0));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(attribute(cu::kPoolReservedHigh), 64 * kMiB);
  EXPECT_EQ(attribute(cu::kPoolUsedHigh), 40 * kMiB);
  expect_clean();
}

TEST_F(SimMemory, PoolsReuseInStreamOrder) {
  const cu::Stream a = stream();
  const cu::Stream b = stream();
  cu::DevicePtr first = 0;
  ASSERT_OK(cuda().mem_alloc_async(&first, 32 * kMiB, a));
  ASSERT_OK(cuda().memset_d8_async(first, 1, 32 * kMiB, a));
  ASSERT_OK(work(first, 32 * kMiB, 1000, a));
  ASSERT_OK(cuda().mem_free_async(first, a));
  cu::DevicePtr elsewhere = 0;
  ASSERT_OK(cuda().mem_alloc_async(&elsewhere, 32 * kMiB, b));  // not yet b's to have
  EXPECT_NE(elsewhere, first);
  cu::DevicePtr again = 0;
  ASSERT_OK(cuda().mem_alloc_async(&again, 32 * kMiB, a));
  EXPECT_EQ(again, first);
  // The new tenant's bytes are unwritten, and the former tenant's kernel saw its own.
  ASSERT_OK(cuda().memset_d8_async(again, 2, 32 * kMiB, a));
  ASSERT_OK(work(again, 32 * kMiB, 1000, a));
  ASSERT_OK(cuda().ctx_synchronize());
  expect_clean();
}

TEST_F(SimMemory, PoolMemoryFreedOnAStreamThatIsNotOrderedAfterItsUseIsARace) {
  const cu::Stream user = stream();
  const cu::Stream owner = stream();
  cu::DevicePtr ptr = 0;
  ASSERT_OK(cuda().mem_alloc_async(&ptr, kMiB, owner));
  ASSERT_OK(cuda().stream_synchronize(owner));
  ASSERT_OK(cuda().memset_d8_async(ptr, 1, kMiB, user));
  ASSERT_OK(cuda().mem_free_async(ptr, owner));
  EXPECT_EQ(hits("RACE"), 1u);
}

TEST_F(SimMemory, DestroyedPoolsGoWithTheirLastAllocation) {
  cu::MemPoolProps props{};
  props.alloc_type = cu::kAllocationPinned;
  props.location = {cu::kLocationDevice, 0};
  cu::MemPool pool = nullptr;
  const Bytes before = free_bytes();
  ASSERT_OK(cuda().mem_pool_create(&pool, &props));
  const cu::Stream on = stream();
  cu::DevicePtr ptr = 0;
  ASSERT_OK(cuda().mem_alloc_from_pool_async(&ptr, kMiB, pool, on));
  ASSERT_OK(cuda().mem_pool_destroy(pool));
  EXPECT_EQ(cuda().mem_alloc_from_pool_async(&ptr, kMiB, pool, on), cu::kInvalidValue);
  ASSERT_OK(cuda().mem_free_async(ptr, on));
  ASSERT_OK(cuda().stream_synchronize(on));
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(SimMemory, RegisteringHostMemory) {
  std::vector<unsigned char> host(8192);
  EXPECT_OK(cuda().mem_host_register(host.data(), 4096, 0));
  EXPECT_EQ(cuda().mem_host_register(host.data() + 100, 4096, 0), cu::kHostMemoryAlreadyRegistered);
  EXPECT_EQ(cuda().mem_host_unregister(host.data() + 100), cu::kInvalidValue);
  EXPECT_OK(cuda().mem_host_unregister(host.data()));
  EXPECT_EQ(cuda().mem_host_unregister(host.data()), cu::kHostMemoryNotRegistered);
}

TEST_F(SimMemory, StatsCountWhatWasDone) {
  const cu::MemHandle handle = create(4 * kMiB);
  const cu::DevicePtr va = reserve(4 * kMiB);
  map(va, 4 * kMiB, handle);
  const cu::Stream on = stream();
  ASSERT_OK(cuda().memcpy_htod_async(va, pinned(100), 100, on));
  ASSERT_OK(cuda().ctx_synchronize());
  ASSERT_OK(cuda().mem_unmap(va, 4 * kMiB));
  ASSERT_OK(cuda().mem_release(handle));
  EXPECT_EQ(cuda().mem_release(handle), cu::kInvalidValue);
  const Stats stats = process_->stats();
  EXPECT_EQ(stats.count(driver::FunctionId::mem_create), 1u);
  EXPECT_EQ(stats.mapping_calls, 6u);
  EXPECT_EQ(stats.copied_h2d, 100u);
  EXPECT_EQ(stats.device_syncs, 1u);
  EXPECT_EQ(stats.failed_calls, 1u);
  EXPECT_EQ(stats.committed, machine_.profile().context);
  EXPECT_EQ(stats.peak_committed, machine_.profile().context + 4 * kMiB);
  EXPECT_EQ(stats.pinned, 100u);
}

MachineOptions limited() {
  MachineOptions options;
  options.pinned_limit = kMiB;
  return options;
}

class SimPinnedLimit : public SimTest {
 protected:
  SimPinnedLimit() : SimTest(plain_profile(), limited()) {}
};

TEST_F(SimPinnedLimit, PageLockedMemoryMayBeLimited) {
  unsigned char* host = pinned(kMiB / 2);
  void* more = nullptr;
  EXPECT_EQ(cuda().mem_host_alloc(&more, kMiB, 0), cu::kOutOfMemory);
  EXPECT_OK(cuda().mem_free_host(host));
  EXPECT_OK(cuda().mem_host_alloc(&more, kMiB, 0));
}

}  // namespace
}  // namespace tidegate::sim
