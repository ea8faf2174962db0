// Several threads, one context.
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {

TEST_P(DriverContract, ThreadsShareAContext) {
  constexpr int kRounds = 20;
  const auto copies = [this](std::uint64_t seed) {
    EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
    cu::Stream stream = nullptr;
    cu::DevicePtr device = 0;
    ASSERT_CUDA_OK(cuda().stream_create(&stream, cu::kStreamNonBlocking));
    ASSERT_CUDA_OK(cuda().mem_alloc(&device, 64 * kKiB));
    for (int round = 0; round < kRounds; ++round) {
      const auto bytes = seeded_bytes(64 * kKiB, seed + static_cast<std::uint64_t>(round));
      upload(device, bytes, stream);
      EXPECT_EQ(download(device, bytes.size(), stream), bytes);
    }
    EXPECT_CUDA_OK(cuda().mem_free(device));
    EXPECT_CUDA_OK(cuda().stream_destroy(stream));
  };
  run_threads({[&] { copies(1000); }, [&] { copies(2000); }});
}

TEST_P(DriverContract, OneThreadMapsWhileAnotherCopies) {
  constexpr int kRounds = 20;
  run_threads({[this] {
                 EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
                 const cu::MemAccess access = read_write();
                 cu::DevicePtr base = 0;
                 ASSERT_CUDA_OK(cuda().mem_address_reserve(&base, grain_, 0, 0, 0));
                 for (int round = 0; round < kRounds; ++round) {
                   cu::MemHandle handle = 0;
                   ASSERT_CUDA_OK(cuda().mem_create(&handle, grain_, &prop_, 0));
                   EXPECT_CUDA_OK(cuda().mem_map(base, grain_, 0, handle, 0));
                   EXPECT_CUDA_OK(cuda().mem_set_access(base, grain_, &access, 1));
                   EXPECT_CUDA_OK(cuda().mem_unmap(base, grain_));
                   EXPECT_CUDA_OK(cuda().mem_release(handle));
                 }
                 EXPECT_CUDA_OK(cuda().mem_address_free(base, grain_));
               },
               [this] {
                 EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
                 cu::Stream stream = nullptr;
                 cu::DevicePtr device = 0;
                 ASSERT_CUDA_OK(cuda().stream_create(&stream, cu::kStreamNonBlocking));
                 ASSERT_CUDA_OK(cuda().mem_alloc(&device, 64 * kKiB));
                 for (int round = 0; round < kRounds; ++round) {
                   const auto bytes = seeded_bytes(64 * kKiB, 3000 + static_cast<std::uint64_t>(round));
                   upload(device, bytes, stream);
                   EXPECT_EQ(download(device, bytes.size(), stream), bytes);
                 }
                 EXPECT_CUDA_OK(cuda().mem_free(device));
                 EXPECT_CUDA_OK(cuda().stream_destroy(stream));
               }});
}

TEST_P(DriverContract, EventsOrderWorkOfDifferentThreads) {
  const cu::Stream producer = make_stream();
  const cu::Stream consumer = make_stream();
  const cu::Event written = make_event();
  const cu::DevicePtr device = make_memory(4096);
  upload(device, std::vector<unsigned char>(4096, 0), producer);
  (void)kernels();
  run_threads({[&] {
    EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
    keep_busy(producer, 20);
    EXPECT_CUDA_OK(cuda().memset_d8_async(device, 7, 4096, producer));
    EXPECT_CUDA_OK(cuda().event_record(written, producer));
  }});
  ASSERT_CUDA_OK(cuda().stream_wait_event(consumer, written, 0));
  EXPECT_EQ(download(device, 4096, consumer), std::vector<unsigned char>(4096, 7));
}

}  // namespace tidegate::contract
