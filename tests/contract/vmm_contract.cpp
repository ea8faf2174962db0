// Physical memory, address space and what joins them.
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {

TEST_P(DriverContract, GranularityIsAPowerOfTwo) {
  std::size_t recommended = 0;
  ASSERT_CUDA_OK(cuda().mem_get_allocation_granularity(&recommended, &prop_, cu::kGranularityRecommended));
  EXPECT_GT(grain_, 0u);
  EXPECT_EQ(grain_ & (grain_ - 1), 0u);
  EXPECT_EQ(recommended % grain_, 0u);
}

TEST_P(DriverContract, MappedMemoryHoldsBytes) {
  const cu::Stream stream = make_stream();
  const Mapping mapping(cuda(), prop_, grain_, 1);
  const auto bytes = seeded_bytes(grain_, 1);
  upload(mapping.base(), bytes, stream);
  EXPECT_EQ(download(mapping.base(), grain_, stream), bytes);
}

TEST_P(DriverContract, CopiesCrossTheBordersOfMappings) {
  const cu::Stream stream = make_stream();
  const Mapping mapping(cuda(), prop_, grain_, 3);
  const auto bytes = seeded_bytes(grain_ + 1000, 2);
  upload(mapping.base() + grain_ - 500, bytes, stream);  // ends in the third frame
  EXPECT_EQ(download(mapping.base() + grain_ - 500, bytes.size(), stream), bytes);

  ASSERT_CUDA_OK(cuda().memset_d8_async(mapping.frame(1) - 16, 0x5A, 32, stream));
  EXPECT_EQ(download(mapping.frame(1) - 16, 32, stream), std::vector<unsigned char>(32, 0x5A));
}

TEST_P(DriverContract, SizesMustBeMultiplesOfTheGranularity) {
  cu::MemHandle handle = 0;
  EXPECT_EQ(cuda().mem_create(&handle, grain_ + 1, &prop_, 0), cu::kInvalidValue);
  EXPECT_EQ(cuda().mem_create(&handle, grain_ / 2, &prop_, 0), cu::kInvalidValue);
  EXPECT_EQ(cuda().mem_create(&handle, 0, &prop_, 0), cu::kInvalidValue);

  cu::DevicePtr base = 0;
  EXPECT_EQ(cuda().mem_address_reserve(&base, 1, 0, 0, 0), cu::kInvalidValue);
  EXPECT_EQ(cuda().mem_address_reserve(&base, 0, 0, 0, 0), cu::kInvalidValue);

  ASSERT_CUDA_OK(cuda().mem_address_reserve(&base, 2 * grain_, 0, 0, 0));
  ASSERT_CUDA_OK(cuda().mem_create(&handle, grain_, &prop_, 0));
  // Driver 580 answers 801 to a part of a handle and to more than it has.
  EXPECT_CUDA_FAILS(cuda().mem_map(base, grain_ / 2, 0, handle, 0));
  EXPECT_EQ(cuda().mem_map(base + 1, grain_, 0, handle, 0), cu::kInvalidValue);
  EXPECT_CUDA_FAILS(cuda().mem_map(base, 2 * grain_, 0, handle, 0));
  EXPECT_CUDA_OK(cuda().mem_release(handle));
  EXPECT_CUDA_OK(cuda().mem_address_free(base, 2 * grain_));
}

TEST_P(DriverContract, UnknownPropertiesAreRefused) {
  cu::MemHandle handle = 0;
  cu::MemProp invalid = prop_;
  invalid.type = cu::kAllocationInvalid;
  EXPECT_CUDA_FAILS(cuda().mem_create(&handle, grain_, &invalid, 0));
  int count = 0;
  ASSERT_CUDA_OK(cuda().device_get_count(&count));
  cu::MemProp nowhere = prop_;
  nowhere.location.id = count;
  EXPECT_CUDA_FAILS(cuda().mem_create(&handle, grain_, &nowhere, 0));
}

TEST_P(DriverContract, ReservationsTakeNoMemoryAndAreAligned) {
  const Bytes before = free_bytes();
  cu::DevicePtr base = 0;
  const Bytes alignment = 64 * kMiB;
  ASSERT_CUDA_OK(cuda().mem_address_reserve(&base, 16 * kGiB, alignment, 0, 0));
  EXPECT_EQ(base % alignment, 0u);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_CUDA_FAILS(cuda().mem_address_free(base, 8 * kGiB));  // the size must be the reservation's
  EXPECT_CUDA_OK(cuda().mem_address_free(base, 16 * kGiB));
}

TEST_P(DriverContract, MapNeedsAFreeReservedRange) {
  const Mapping mapping(cuda(), prop_, grain_, 1);
  const cu::Stream stream = make_stream();
  const auto bytes = seeded_bytes(4096, 3);
  upload(mapping.base(), bytes, stream);
  cu::MemHandle handle = 0;
  ASSERT_CUDA_OK(cuda().mem_create(&handle, grain_, &prop_, 0));
  EXPECT_CUDA_FAILS(cuda().mem_map(mapping.base(), grain_, 0, handle, 0));
  EXPECT_EQ(download(mapping.base(), bytes.size(), stream), bytes);

  cu::DevicePtr gone = 0;
  ASSERT_CUDA_OK(cuda().mem_address_reserve(&gone, grain_, 0, 0, 0));
  ASSERT_CUDA_OK(cuda().mem_address_free(gone, grain_));
  EXPECT_CUDA_FAILS(cuda().mem_map(gone, grain_, 0, handle, 0));
  EXPECT_CUDA_OK(cuda().mem_release(handle));
}

TEST_P(DriverContract, OneHandleMayBeMappedTwice) {
  const Mapping mapping(cuda(), prop_, grain_, 1);
  const cu::Stream stream = make_stream();
  cu::DevicePtr second = 0;
  const cu::MemAccess access = read_write();
  ASSERT_CUDA_OK(cuda().mem_address_reserve(&second, grain_, 0, 0, 0));
  ASSERT_CUDA_OK(cuda().mem_map(second, grain_, 0, mapping.handle(0), 0));
  ASSERT_CUDA_OK(cuda().mem_set_access(second, grain_, &access, 1));
  const auto bytes = seeded_bytes(grain_, 4);
  upload(mapping.base(), bytes, stream);
  EXPECT_EQ(download(second, grain_, stream), bytes);
  EXPECT_CUDA_OK(cuda().mem_unmap(second, grain_));
  EXPECT_CUDA_OK(cuda().mem_address_free(second, grain_));
}

TEST_P(DriverContract, ContentStaysWithTheHandle) {
  const cu::Stream stream = make_stream();
  const Mapping mapping(cuda(), prop_, grain_, 2);
  const auto bytes = seeded_bytes(grain_, 5);
  upload(mapping.frame(0), bytes, stream);
  upload(mapping.frame(1), seeded_bytes(grain_, 6), stream);
  ASSERT_CUDA_OK(cuda().mem_unmap(mapping.base(), mapping.bytes()));  // whole mappings, several at once
  ASSERT_CUDA_OK(cuda().mem_map(mapping.frame(1), grain_, 0, mapping.handle(0), 0));
  ASSERT_CUDA_OK(cuda().mem_map(mapping.frame(0), grain_, 0, mapping.handle(1), 0));
  const cu::MemAccess access = read_write();
  ASSERT_CUDA_OK(cuda().mem_set_access(mapping.base(), mapping.bytes(), &access, 1));
  EXPECT_EQ(download(mapping.frame(1), grain_, stream), bytes);
}

TEST_P(DriverContract, UnmapTakesWholeMappingsOnly) {
  const cu::Stream stream = make_stream();
  const Mapping mapping(cuda(), prop_, 2 * grain_, 1);
  const auto bytes = seeded_bytes(2 * grain_, 7);
  upload(mapping.base(), bytes, stream);
  EXPECT_CUDA_FAILS(cuda().mem_unmap(mapping.base(), grain_));
  EXPECT_CUDA_FAILS(cuda().mem_unmap(mapping.base() + grain_, grain_));
  EXPECT_EQ(download(mapping.base(), bytes.size(), stream), bytes);
}

TEST_P(DriverContract, AccessNeedsAMappedRange) {
  cu::DevicePtr base = 0;
  const cu::MemAccess access = read_write();
  ASSERT_CUDA_OK(cuda().mem_address_reserve(&base, 2 * grain_, 0, 0, 0));
  EXPECT_CUDA_FAILS(cuda().mem_set_access(base, grain_, &access, 1));
  cu::MemHandle handle = 0;  // (unmapping what is not mapped is left out: driver 580 lets it pass)
  ASSERT_CUDA_OK(cuda().mem_create(&handle, grain_, &prop_, 0));
  ASSERT_CUDA_OK(cuda().mem_map(base, grain_, 0, handle, 0));
  EXPECT_CUDA_FAILS(cuda().mem_set_access(base, 2 * grain_, &access, 1));  // its second half is a hole
  EXPECT_CUDA_OK(cuda().mem_set_access(base, grain_, &access, 1));
  EXPECT_CUDA_OK(cuda().mem_unmap(base, grain_));
  EXPECT_CUDA_OK(cuda().mem_release(handle));
  EXPECT_CUDA_OK(cuda().mem_address_free(base, 2 * grain_));
}

TEST_P(DriverContract, AddressesAreNotFreedWhileMapped) {
  const cu::Stream stream = make_stream();
  const Mapping mapping(cuda(), prop_, grain_, 1);
  EXPECT_CUDA_FAILS(cuda().mem_address_free(mapping.base(), grain_));
  const auto bytes = seeded_bytes(4096, 8);
  upload(mapping.base(), bytes, stream);
  EXPECT_EQ(download(mapping.base(), bytes.size(), stream), bytes);
}

}  // namespace tidegate::contract
