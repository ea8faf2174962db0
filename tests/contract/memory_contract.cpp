// How much memory there is, plain allocations and host memory.
#include <cstdlib>
#include <cstring>

#include "tests/contract/driver_contract.h"

namespace tidegate::contract {
namespace {

// A driver may take a little for its own tables along with what was asked for.
constexpr Bytes kTableSlack = 8 * kMiB;

struct AlignedDelete {
  void operator()(unsigned char* p) const { ::operator delete (p, std::align_val_t{4096}); }
};
std::unique_ptr<unsigned char, AlignedDelete> page_aligned(Bytes bytes) {
  return std::unique_ptr<unsigned char, AlignedDelete>(
      static_cast<unsigned char*>(::operator new (bytes, std::align_val_t{4096})));
}

}  // namespace

TEST_P(DriverContract, CreateMovesFreeMemoryByItsSize) {
  const Bytes size = round_up(64 * kMiB, grain_);
  const Bytes before = free_bytes();
  cu::MemHandle handle = 0;
  ASSERT_CUDA_OK(cuda().mem_create(&handle, size, &prop_, 0));
  const Bytes held = before - free_bytes();
  EXPECT_GE(held, size);
  EXPECT_LE(held, size + kTableSlack);
  ASSERT_CUDA_OK(cuda().mem_release(handle));
  EXPECT_TRUE(comes_back(before - kTableSlack));
}

TEST_P(DriverContract, MemoryLivesUntilReleasedAndUnmapped) {
  const cu::Stream stream = make_stream();
  const Bytes size = round_up(64 * kMiB, grain_);
  cu::DevicePtr base = 0;
  cu::MemHandle handle = 0;
  const cu::MemAccess access = read_write();
  ASSERT_CUDA_OK(cuda().mem_address_reserve(&base, size, 0, 0, 0));
  ASSERT_CUDA_OK(cuda().mem_create(&handle, size, &prop_, 0));
  ASSERT_CUDA_OK(cuda().mem_map(base, size, 0, handle, 0));
  ASSERT_CUDA_OK(cuda().mem_set_access(base, size, &access, 1));
  const auto bytes = seeded_bytes(kMiB, 1);
  upload(base, bytes, stream);

  const Bytes mapped = free_bytes();
  ASSERT_CUDA_OK(cuda().mem_release(handle));  // allowed: the mapping keeps the memory
  EXPECT_EQ(free_bytes(), mapped);
  EXPECT_EQ(download(base, bytes.size(), stream), bytes);
  ASSERT_CUDA_OK(cuda().mem_unmap(base, size));
  EXPECT_TRUE(comes_back(mapped + size - kTableSlack));
  EXPECT_CUDA_OK(cuda().mem_address_free(base, size));
}

TEST_P(DriverContract, AnAddressTellsItsAllocation) {
  constexpr Bytes kSize = 4 * kMiB;
  cu::DevicePtr at = 0;
  ASSERT_CUDA_OK(cuda().mem_alloc(&at, kSize));
  cu::DevicePtr base = 0;
  std::size_t bytes = 0;
  EXPECT_CUDA_OK(cuda().mem_get_address_range(&base, &bytes, at + kSize - 1));
  EXPECT_EQ(base, at);
  EXPECT_GE(bytes, kSize);
  EXPECT_CUDA_OK(cuda().mem_get_address_range(nullptr, nullptr, at));
  ASSERT_CUDA_OK(cuda().mem_free(at));
  EXPECT_NE(cuda().mem_get_address_range(&base, &bytes, at), cu::kSuccess);
  EXPECT_NE(cuda().mem_get_address_range(&base, &bytes, reinterpret_cast<cu::DevicePtr>(&base)), cu::kSuccess);
}

TEST_P(DriverContract, OutOfMemoryChangesNothing) {
  std::size_t total = 0;
  ASSERT_CUDA_OK(cuda().device_total_mem(&total, device_));
  const Bytes before = free_bytes();
  cu::MemHandle handle = 0;
  EXPECT_EQ(cuda().mem_create(&handle, round_up(4 * Bytes{total}, grain_), &prop_, 0), cu::kOutOfMemory);
  cu::DevicePtr ptr = 0;
  EXPECT_EQ(cuda().mem_alloc(&ptr, 4 * Bytes{total}), cu::kOutOfMemory);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_CUDA_OK(cuda().ctx_synchronize());  // the context answers as before
}

TEST_P(DriverContract, PlainAllocationsAreAlignedAndCounted) {
  const Bytes size = 64 * kMiB;
  const Bytes before = free_bytes();
  cu::DevicePtr ptr = 0;
  ASSERT_CUDA_OK(cuda().mem_alloc(&ptr, size));
  EXPECT_EQ(ptr % 256, 0u);
  EXPECT_GE(before - free_bytes(), size);
  ASSERT_CUDA_OK(cuda().mem_free(ptr));
  EXPECT_TRUE(comes_back(before - kTableSlack));
}

TEST_P(DriverContract, PlainAllocationErrors) {
  cu::DevicePtr ptr = 0;
  EXPECT_EQ(cuda().mem_alloc(&ptr, 0), cu::kInvalidValue);
  const cu::DevicePtr whole = make_memory(4096);
  EXPECT_EQ(cuda().mem_free(whole + 256), cu::kInvalidValue);  // not what mem_alloc returned
  const Mapping mapping(cuda(), prop_, grain_, 1);
  EXPECT_CUDA_FAILS(cuda().mem_free(mapping.base()));
}

TEST_P(DriverContract, PinnedMemoryIsHostMemory) {
  unsigned char* pinned = make_pinned(kMiB);
  ASSERT_NE(pinned, nullptr);
  const auto bytes = seeded_bytes(kMiB, 2);
  std::memcpy(pinned, bytes.data(), bytes.size());
  const cu::Stream stream = make_stream();
  const cu::DevicePtr device = make_memory(kMiB);
  ASSERT_CUDA_OK(cuda().memcpy_htod_async(device, pinned, kMiB, stream));
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  std::memset(pinned, 0, kMiB);
  ASSERT_CUDA_OK(cuda().memcpy_dtoh_async(pinned, device, kMiB, stream));
  ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_EQ(std::memcmp(pinned, bytes.data(), bytes.size()), 0);
}

TEST_P(DriverContract, FreeHostTakesPinnedMemoryOnly) {
  const auto ordinary = page_aligned(4096);
  EXPECT_EQ(cuda().mem_free_host(ordinary.get()), cu::kInvalidValue);
}

TEST_P(DriverContract, RegistrationIsOncePerPage) {
  const Bytes size = 64 * kKiB;
  const auto host = page_aligned(size);
  std::memset(host.get(), 7, size);
  EXPECT_EQ(cuda().mem_host_unregister(host.get()), cu::kHostMemoryNotRegistered);
  ASSERT_CUDA_OK(cuda().mem_host_register(host.get(), size, cu::kRegisterPortable));
  EXPECT_EQ(cuda().mem_host_register(host.get(), size, cu::kRegisterPortable), cu::kHostMemoryAlreadyRegistered);

  const cu::Stream stream = make_stream();
  const cu::DevicePtr device = make_memory(size);
  ASSERT_CUDA_OK(cuda().memcpy_htod_async(device, host.get(), size, stream));
  EXPECT_EQ(download(device, size, stream), std::vector<unsigned char>(size, 7));

  EXPECT_CUDA_OK(cuda().mem_host_unregister(host.get()));
  EXPECT_EQ(cuda().mem_host_unregister(host.get()), cu::kHostMemoryNotRegistered);
}

TEST_P(DriverContract, CopiesGoEveryWay) {
  const cu::Stream stream = make_stream();
  const Bytes size = kMiB + 3;
  const cu::DevicePtr first = make_memory(size);
  const cu::DevicePtr second = make_memory(size);
  const auto bytes = seeded_bytes(size, 3);
  upload(first, bytes, stream);
  ASSERT_CUDA_OK(cuda().memcpy_dtod_async(second, first, size, stream));
  EXPECT_EQ(download(second, size, stream), bytes);
  ASSERT_CUDA_OK(cuda().memset_d8_async(second + 1, 0xA5, size - 2, stream));
  auto expected = std::vector<unsigned char>(size, 0xA5);
  expected.front() = bytes.front();
  expected.back() = bytes.back();
  EXPECT_EQ(download(second, size, stream), expected);
}

TEST_P(DriverContract, EmptyCopiesSucceed) {
  const cu::Stream stream = make_stream();
  const cu::DevicePtr device = make_memory(256);
  unsigned char host = 1;
  EXPECT_CUDA_OK(cuda().memcpy_htod_async(device, &host, 0, stream));
  EXPECT_CUDA_OK(cuda().memcpy_dtoh_async(&host, device, 0, stream));
  EXPECT_CUDA_OK(cuda().stream_synchronize(stream));
  EXPECT_EQ(host, 1);
}

}  // namespace tidegate::contract
