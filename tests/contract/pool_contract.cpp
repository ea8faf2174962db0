// Stream-ordered allocation and its pools.
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {

#define SKIP_WITHOUT_POOLS() \
  if (attribute(cu::kAttrMemoryPoolsSupported) == 0) GTEST_SKIP() << "the device has no memory pools"

namespace {

std::uint64_t pool_bytes(driver::Driver& driver, cu::MemPool pool, cu::MemPoolAttribute attribute) {
  std::uint64_t value = 0;
  EXPECT_CUDA_OK(driver.mem_pool_get_attribute(pool, attribute, &value));
  return value;
}

}  // namespace

TEST_P(DriverContract, AsyncAllocationsHoldBytes) {
  SKIP_WITHOUT_POOLS();
  const cu::Stream stream = make_stream();
  cu::DevicePtr ptr = 0;
  ASSERT_CUDA_OK(cuda().mem_alloc_async(&ptr, kMiB, stream));
  const auto bytes = seeded_bytes(kMiB, 1);
  upload(ptr, bytes, stream);
  EXPECT_EQ(download(ptr, kMiB, stream), bytes);
  EXPECT_CUDA_OK(cuda().mem_free_async(ptr, stream));
  EXPECT_CUDA_OK(cuda().stream_synchronize(stream));
}

TEST_P(DriverContract, DefaultPoolCountsWhatItHolds) {
  SKIP_WITHOUT_POOLS();
  const cu::Stream stream = make_stream();
  cu::MemPool pool = nullptr;
  ASSERT_CUDA_OK(cuda().device_get_default_mem_pool(&pool, device_));
  const std::uint64_t used_before = pool_bytes(cuda(), pool, cu::kPoolUsedCurrent);
  cu::DevicePtr ptr = 0;
  ASSERT_CUDA_OK(cuda().mem_alloc_async(&ptr, 32 * kMiB, stream));
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_GE(pool_bytes(cuda(), pool, cu::kPoolUsedCurrent), used_before + 32 * kMiB);
  EXPECT_GE(pool_bytes(cuda(), pool, cu::kPoolReservedCurrent), pool_bytes(cuda(), pool, cu::kPoolUsedCurrent));
  ASSERT_CUDA_OK(cuda().mem_free_async(ptr, stream));
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_EQ(pool_bytes(cuda(), pool, cu::kPoolUsedCurrent), used_before);
  EXPECT_GE(pool_bytes(cuda(), pool, cu::kPoolUsedHigh), used_before + 32 * kMiB);
  EXPECT_CUDA_FAILS(cuda().mem_pool_destroy(pool));  // the default pool is for life
}

TEST_P(DriverContract, PoolsKeepUpToTheirThresholdAndTrim) {
  SKIP_WITHOUT_POOLS();
  const cu::Stream stream = make_stream();
  cu::MemPoolProps props{};
  props.alloc_type = cu::kAllocationPinned;
  props.location = prop_.location;
  cu::MemPool pool = nullptr;
  ASSERT_CUDA_OK(cuda().mem_pool_create(&pool, &props));
  EXPECT_EQ(pool_bytes(cuda(), pool, cu::kPoolReleaseThreshold), 0u);
  std::uint64_t keep_all = ~std::uint64_t{0};
  ASSERT_CUDA_OK(cuda().mem_pool_set_attribute(pool, cu::kPoolReleaseThreshold, &keep_all));
  EXPECT_EQ(pool_bytes(cuda(), pool, cu::kPoolReleaseThreshold), keep_all);

  const Bytes before = free_bytes();
  cu::DevicePtr ptr = 0;
  ASSERT_CUDA_OK(cuda().mem_alloc_from_pool_async(&ptr, 64 * kMiB, pool, stream));
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_GE(before - free_bytes(), 64 * kMiB);
  ASSERT_CUDA_OK(cuda().mem_free_async(ptr, stream));
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_EQ(pool_bytes(cuda(), pool, cu::kPoolUsedCurrent), 0u);
  EXPECT_GE(pool_bytes(cuda(), pool, cu::kPoolReservedCurrent), 64 * kMiB);

  ASSERT_CUDA_OK(cuda().mem_pool_trim_to(pool, 0));
  EXPECT_EQ(pool_bytes(cuda(), pool, cu::kPoolReservedCurrent), 0u);
  EXPECT_TRUE(comes_back(before - 8 * kMiB));
  EXPECT_CUDA_OK(cuda().mem_pool_destroy(pool));
}

TEST_P(DriverContract, FreesAreOrderedBehindTheStreamsWork) {
  SKIP_WITHOUT_POOLS();
  const cu::Stream stream = make_stream();
  cu::DevicePtr ptr = 0;
  ASSERT_CUDA_OK(cuda().mem_alloc_async(&ptr, kMiB, stream));
  const auto bytes = seeded_bytes(kMiB, 2);
  upload(ptr, bytes, stream);
  unsigned char* pinned = make_pinned(kMiB);
  keep_busy(stream, 20);
  ASSERT_CUDA_OK(cuda().memcpy_dtoh_async(pinned, ptr, kMiB, stream));
  ASSERT_CUDA_OK(cuda().mem_free_async(ptr, stream));  // the copy ahead of it still reads
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_EQ(std::vector<unsigned char>(pinned, pinned + kMiB), bytes);
}

#undef SKIP_WITHOUT_POOLS

}  // namespace tidegate::contract
