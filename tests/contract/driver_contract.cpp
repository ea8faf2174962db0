#include "tests/contract/driver_contract.h"

#include <thread>

#include "src/base/checksum.h"

namespace tidegate::contract {

// Only the implementation that registered is tested; a build without any is not an error.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverContract);

std::vector<unsigned char> seeded_bytes(Bytes bytes, std::uint64_t seed) {
  base::Random random(seed);
  std::vector<unsigned char> result(bytes);
  for (unsigned char& byte : result) byte = static_cast<unsigned char>(random.next() >> 56);
  return result;
}

Mapping::Mapping(driver::Driver& driver, const cu::MemProp& prop, Bytes frame_bytes, unsigned frames)
    : driver_(driver), frame_bytes_(frame_bytes), handles_(frames) {
  EXPECT_CUDA_OK(driver_.mem_address_reserve(&base_, bytes(), 0, 0, 0));
  for (unsigned i = 0; i < frames; ++i) {
    EXPECT_CUDA_OK(driver_.mem_create(&handles_[i], frame_bytes_, &prop, 0));
    EXPECT_CUDA_OK(driver_.mem_map(frame(i), frame_bytes_, 0, handles_[i], 0));
  }
  const cu::MemAccess access{prop.location, cu::kAccessReadWrite};
  EXPECT_CUDA_OK(driver_.mem_set_access(base_, bytes(), &access, 1));
}

Mapping::~Mapping() {
  EXPECT_CUDA_OK(driver_.ctx_synchronize());
  EXPECT_CUDA_OK(driver_.mem_unmap(base_, bytes()));
  for (const cu::MemHandle handle : handles_) EXPECT_CUDA_OK(driver_.mem_release(handle));
  EXPECT_CUDA_OK(driver_.mem_address_free(base_, bytes()));
}

void DriverContract::SetUp() {
  Result<DriverUnderTest> made = GetParam().make();
  if (!made) {
    const Errc code = made.error().code;
    const bool absent = code == Errc::kNoDriver || code == Errc::kNoDevice || code == Errc::kDriverTooOld;
    if (absent) GTEST_SKIP() << GetParam().name << ": " << made.error().message;
    FAIL() << GetParam().name << ": " << made.error().message;
  }
  under_test_ = std::move(made).value();
  ASSERT_CUDA_OK(cuda().init(0));
  ASSERT_CUDA_OK(cuda().device_get(&device_, 0));
  ASSERT_CUDA_OK(cuda().device_primary_ctx_retain(&context_, device_));
  ASSERT_CUDA_OK(cuda().ctx_set_current(context_));

  prop_.type = cu::kAllocationPinned;
  prop_.location = {cu::kLocationDevice, device_};
  std::size_t grain = 0;
  ASSERT_CUDA_OK(cuda().mem_get_allocation_granularity(&grain, &prop_, cu::kGranularityMinimum));
  grain_ = grain;
}

void DriverContract::TearDown() {
  if (context_ == nullptr) return;
  EXPECT_CUDA_OK(cuda().ctx_set_current(context_));
  EXPECT_CUDA_OK(cuda().ctx_synchronize());
  for (const cu::Event event : events_) EXPECT_CUDA_OK(cuda().event_destroy(event));
  for (const cu::Stream stream : streams_) EXPECT_CUDA_OK(cuda().stream_destroy(stream));
  for (const cu::DevicePtr ptr : memory_) EXPECT_CUDA_OK(cuda().mem_free(ptr));
  for (void* ptr : pinned_) EXPECT_CUDA_OK(cuda().mem_free_host(ptr));
  if (kernels_.module != nullptr) {
    EXPECT_CUDA_OK(kernels_.unload(cuda()));
  }
  EXPECT_CUDA_OK(cuda().ctx_set_current(nullptr));
  EXPECT_CUDA_OK(cuda().device_primary_ctx_release(device_));
  if (under_test_.finish) under_test_.finish();
  under_test_.owner.reset();
}

cu::Stream DriverContract::make_stream(unsigned flags) {
  cu::Stream stream = nullptr;
  EXPECT_CUDA_OK(cuda().stream_create(&stream, flags));
  if (stream != nullptr) streams_.push_back(stream);
  return stream;
}

cu::Event DriverContract::make_event(unsigned flags) {
  cu::Event event = nullptr;
  EXPECT_CUDA_OK(cuda().event_create(&event, flags));
  if (event != nullptr) events_.push_back(event);
  return event;
}

cu::DevicePtr DriverContract::make_memory(Bytes bytes) {
  cu::DevicePtr ptr = 0;
  EXPECT_CUDA_OK(cuda().mem_alloc(&ptr, bytes));
  if (ptr != 0) memory_.push_back(ptr);
  return ptr;
}

unsigned char* DriverContract::make_pinned(Bytes bytes) {
  void* ptr = nullptr;
  EXPECT_CUDA_OK(cuda().mem_host_alloc(&ptr, bytes, cu::kHostPortable));
  if (ptr != nullptr) pinned_.push_back(ptr);
  return static_cast<unsigned char*>(ptr);
}

const driver::CheckKernels& DriverContract::kernels() {
  if (kernels_.module == nullptr) {
    const Result<driver::CheckKernels> loaded = driver::CheckKernels::load(cuda());
    EXPECT_TRUE(loaded.ok()) << (loaded ? "" : loaded.error().message);
    if (loaded) {
      kernels_ = loaded.value();
      warm_up();
    }
  }
  return kernels_;
}

// A driver loads kernels at their first launch, its own for memset included, and may wait for the card to do so.
void DriverContract::warm_up() {
  const cu::Stream stream = make_stream();
  const cu::DevicePtr scratch = make_memory(64);
  EXPECT_CUDA_OK(cuda().memset_d8_async(scratch, 0, 64, stream));
  EXPECT_CUDA_OK(cuda().memcpy_dtod_async(scratch + 32, scratch, 16, stream));
  EXPECT_CUDA_OK(kernels_.launch_checksum(cuda(), scratch, 16, scratch + 48, stream));
  EXPECT_CUDA_OK(kernels_.launch_work(cuda(), 0, 0, 0, stream));
  EXPECT_CUDA_OK(cuda().stream_synchronize(stream));
}

void DriverContract::keep_busy(cu::Stream stream, unsigned milliseconds) {
  EXPECT_CUDA_OK(kernels().launch_work(cuda(), 0, 0, milliseconds * std::uint64_t{1'000'000}, stream));
}

void DriverContract::upload(cu::DevicePtr dst, const std::vector<unsigned char>& bytes, cu::Stream stream) {
  EXPECT_CUDA_OK(cuda().memcpy_htod_async(dst, bytes.data(), bytes.size(), stream));
  EXPECT_CUDA_OK(cuda().stream_synchronize(stream));
}

std::vector<unsigned char> DriverContract::download(cu::DevicePtr src, Bytes bytes, cu::Stream stream) {
  std::vector<unsigned char> result(bytes);
  EXPECT_CUDA_OK(cuda().memcpy_dtoh_async(result.data(), src, bytes, stream));
  EXPECT_CUDA_OK(cuda().stream_synchronize(stream));
  return result;
}

Bytes DriverContract::free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_CUDA_OK(cuda().mem_get_info(&free, &total));
  EXPECT_LE(free, total);
  return free;
}

bool DriverContract::comes_back(Bytes bytes) {
  constexpr int kPolls = 1'000'000;
  for (int i = 0; i < kPolls; ++i) {
    if (free_bytes() >= bytes) return true;
    under_test_.pause();
  }
  return false;
}

cu::MemAccess DriverContract::read_write() const { return {prop_.location, cu::kAccessReadWrite}; }

int DriverContract::attribute(cu::DeviceAttribute attribute) {
  int value = 0;
  EXPECT_CUDA_OK(cuda().device_get_attribute(&value, attribute, device_));
  return value;
}

void DriverContract::run_threads(std::vector<std::function<void()>> bodies) {
  if (under_test_.run_threads) return under_test_.run_threads(std::move(bodies));
  std::vector<std::thread> threads;
  threads.reserve(bodies.size());
  for (std::function<void()>& body : bodies) threads.emplace_back(std::move(body));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tidegate::contract
