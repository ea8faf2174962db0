// Modules, launches and the two check kernels.
#include <cstring>

#include "src/base/checksum.h"
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {
namespace {

constexpr unsigned kBlock = 128;

}  // namespace

TEST_P(DriverContract, ModulesHoldNamedFunctions) {
  cu::Module module = nullptr;
  ASSERT_CUDA_OK(cuda().module_load_data(&module, driver::kernels_ptx().data()));
  cu::Function function = nullptr;
  EXPECT_CUDA_OK(cuda().module_get_function(&function, module, driver::kChecksumKernel));
  EXPECT_NE(function, nullptr);
  EXPECT_CUDA_OK(cuda().module_get_function(&function, module, driver::kWorkKernel));
  EXPECT_EQ(cuda().module_get_function(&function, module, "tidegate_no_such_kernel"), cu::kNotFound);
  EXPECT_CUDA_OK(cuda().module_unload(module));
}

TEST_P(DriverContract, GarbageIsNoModule) {
  cu::Module module = nullptr;
  EXPECT_CUDA_FAILS(cuda().module_load_data(&module, "this is not PTX\n"));
  EXPECT_CUDA_OK(cuda().ctx_synchronize());
}

TEST_P(DriverContract, ImpossibleLaunchesAreRefused) {
  std::uint64_t zero = 0;
  void* params[] = {&zero, &zero, &zero};
  const cu::Function work = kernels().work;
  EXPECT_EQ(cuda().launch_kernel(work, 0, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), cu::kInvalidValue);
  EXPECT_CUDA_FAILS(cuda().launch_kernel(work, 1, 1, 1, 4096, 1, 1, 0, nullptr, params, nullptr));
  EXPECT_CUDA_OK(cuda().ctx_synchronize());
}

TEST_P(DriverContract, ChecksumAgreesWithTheHosts) {
  const cu::Stream stream = make_stream();
  const Bytes longest = 3 * kMiB + 13;
  const cu::DevicePtr device = make_memory(longest + 64);
  const cu::DevicePtr out = make_memory(8);
  const auto bytes = seeded_bytes(longest + 64, 1);
  upload(device, bytes, stream);
  const Bytes sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 63, 64, 100, 4095, 4096, 4097, 65'537, kMiB, longest};
  for (const Bytes offset : {Bytes{0}, Bytes{8}, Bytes{16}, Bytes{56}}) {
    for (const Bytes size : sizes) {
      ASSERT_CUDA_OK(cuda().memset_d8_async(out, 0, 8, stream));
      ASSERT_CUDA_OK(kernels().launch_checksum(cuda(), device + offset, size, out, stream));
      std::uint64_t sum = 0;
      std::memcpy(&sum, download(out, 8, stream).data(), 8);
      EXPECT_EQ(sum, base::checksum(bytes.data() + offset, size)) << size << " bytes at offset " << offset;
    }
  }
}

TEST_P(DriverContract, ChecksumTakesAnyGridAndAdds) {
  const cu::Stream stream = make_stream();
  const Bytes size = 100'003;
  cu::DevicePtr device = make_memory(size);
  cu::DevicePtr out = make_memory(8);
  const auto bytes = seeded_bytes(size, 2);
  upload(device, bytes, stream);
  ASSERT_CUDA_OK(cuda().memset_d8_async(out, 0, 8, stream));
  Bytes count = size;
  void* params[] = {&device, &count, &out};
  const std::pair<unsigned, unsigned> shapes[] = {{1, 1}, {1, kBlock}, {7, 33}, {50, 1024}, {3, 100}};
  for (const auto& [blocks, threads] : shapes) {
    ASSERT_CUDA_OK(cuda().launch_kernel(kernels().checksum, blocks, 1, 1, threads, 1, 1, 0, stream, params, nullptr));
  }
  std::uint64_t sum = 0;
  std::memcpy(&sum, download(out, 8, stream).data(), 8);
  EXPECT_EQ(sum, std::size(shapes) * base::checksum(bytes.data(), size));
}

TEST_P(DriverContract, ChecksumReadsAcrossFrames) {
  const cu::Stream stream = make_stream();
  const Mapping mapping(cuda(), prop_, grain_, 2);
  const cu::DevicePtr out = make_memory(8);
  const auto bytes = seeded_bytes(mapping.bytes(), 3);
  upload(mapping.base(), bytes, stream);
  ASSERT_CUDA_OK(cuda().memset_d8_async(out, 0, 8, stream));
  ASSERT_CUDA_OK(kernels().launch_checksum(cuda(), mapping.base(), mapping.bytes(), out, stream));
  std::uint64_t sum = 0;
  std::memcpy(&sum, download(out, 8, stream).data(), 8);
  EXPECT_EQ(sum, base::checksum(bytes.data(), bytes.size()));
}

TEST_P(DriverContract, WorkTakesTheTimeAskedFor) {
  const cu::Stream stream = make_stream();
  const cu::Event start = make_event(cu::kEventDefault);
  const cu::Event end = make_event(cu::kEventDefault);
  const cu::DevicePtr touched = make_memory(256);
  ASSERT_CUDA_OK(cuda().memset_d8_async(touched, 1, 256, stream));
  const driver::CheckKernels& check = kernels();
  for (const unsigned milliseconds : {2u, 10u, 40u}) {
    ASSERT_CUDA_OK(cuda().event_record(start, stream));
    ASSERT_CUDA_OK(check.launch_work(cuda(), touched, 256, milliseconds * std::uint64_t{1'000'000}, stream));
    ASSERT_CUDA_OK(cuda().event_record(end, stream));
    ASSERT_CUDA_OK(cuda().stream_synchronize(stream));
    float elapsed_ms = 0;
    ASSERT_CUDA_OK(cuda().event_elapsed_time(&elapsed_ms, start, end));
    EXPECT_GE(elapsed_ms, 0.98f * static_cast<float>(milliseconds));
  }
}

TEST_P(DriverContract, WorkOfTwoStreamsRunsSideBySide) {
  const cu::Stream first = make_stream();
  const cu::Stream second = make_stream();
  const cu::Event second_done = make_event();
  (void)kernels();
  keep_busy(first, 400);
  keep_busy(second, 1);
  ASSERT_CUDA_OK(cuda().event_record(second_done, second));
  ASSERT_CUDA_OK(cuda().event_synchronize(second_done));
  EXPECT_EQ(cuda().stream_query(first), cu::kNotReady);
}

}  // namespace tidegate::contract
