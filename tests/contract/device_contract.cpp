// Devices, contexts and error texts.
#include <algorithm>
#include <cstring>

#include "tests/contract/driver_contract.h"

namespace tidegate::contract {

TEST_P(DriverContract, InitMayBeRepeated) {
  EXPECT_CUDA_OK(cuda().init(0));
  int version = 0;
  EXPECT_CUDA_OK(cuda().driver_get_version(&version));
  EXPECT_GE(version, 11000);
  EXPECT_NE(std::string(cuda().description()), "");
}

TEST_P(DriverContract, InitRefusesFlags) { EXPECT_EQ(cuda().init(1), cu::kInvalidValue); }

TEST_P(DriverContract, DevicesAreCountedFromZero) {
  int count = 0;
  ASSERT_CUDA_OK(cuda().device_get_count(&count));
  ASSERT_GE(count, 1);
  cu::Device device = 0;
  EXPECT_CUDA_OK(cuda().device_get(&device, count - 1));
  EXPECT_EQ(cuda().device_get(&device, count), cu::kInvalidDevice);
  EXPECT_EQ(cuda().device_get(&device, -1), cu::kInvalidDevice);
}

TEST_P(DriverContract, DeviceHasNameAndUuid) {
  char name[256] = {};
  ASSERT_CUDA_OK(cuda().device_get_name(name, sizeof name, device_));
  EXPECT_GT(std::strlen(name), 0u);
  cu::Uuid first{};
  cu::Uuid second{};
  ASSERT_CUDA_OK(cuda().device_get_uuid(&first, device_));
  ASSERT_CUDA_OK(cuda().device_get_uuid(&second, device_));
  EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
  EXPECT_TRUE(std::any_of(std::begin(first.bytes), std::end(first.bytes), [](unsigned char b) { return b != 0; }));
}

TEST_P(DriverContract, TotalMemoryIsTheSameEverywhere) {
  std::size_t total = 0;
  std::size_t free = 0;
  std::size_t info_total = 0;
  ASSERT_CUDA_OK(cuda().device_total_mem(&total, device_));
  ASSERT_CUDA_OK(cuda().mem_get_info(&free, &info_total));
  EXPECT_EQ(total, info_total);
  EXPECT_GT(free, 0u);
  EXPECT_LE(free, total);
}

TEST_P(DriverContract, AttributesAreSane) {
  EXPECT_GE(attribute(cu::kAttrMultiprocessorCount), 1);
  EXPECT_GE(attribute(cu::kAttrComputeCapabilityMajor), 5);
  EXPECT_GE(attribute(cu::kAttrComputeCapabilityMinor), 0);
  EXPECT_EQ(attribute(cu::kAttrUnifiedAddressing), 1);
  EXPECT_EQ(attribute(cu::kAttrVirtualMemoryManagementSupported), 1);
  EXPECT_GE(attribute(cu::kAttrAsyncEngineCount), 0);
  int value = 0;
  EXPECT_EQ(cuda().device_get_attribute(&value, static_cast<cu::DeviceAttribute>(1 << 20), device_), cu::kInvalidValue);
}

TEST_P(DriverContract, ErrorsHaveTheDriversNames) {
  const char* text = nullptr;
  ASSERT_CUDA_OK(cuda().get_error_name(cu::kOutOfMemory, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  ASSERT_CUDA_OK(cuda().get_error_name(cu::kSuccess, &text));
  EXPECT_STREQ(text, "CUDA_SUCCESS");
  ASSERT_CUDA_OK(cuda().get_error_name(cu::kNotReady, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_NOT_READY");
  ASSERT_CUDA_OK(cuda().get_error_string(cu::kOutOfMemory, &text));
  ASSERT_NE(text, nullptr);
  EXPECT_GT(std::strlen(text), 0u);
  EXPECT_EQ(cuda().get_error_name(static_cast<cu::Status>(987654), &text), cu::kInvalidValue);
  EXPECT_EQ(text, nullptr);
}

TEST_P(DriverContract, PrimaryContextIsOneAndCounted) {
  cu::Context again = nullptr;
  ASSERT_CUDA_OK(cuda().device_primary_ctx_retain(&again, device_));
  EXPECT_EQ(again, context_);
  EXPECT_CUDA_OK(cuda().device_primary_ctx_release(device_));
  EXPECT_CUDA_OK(cuda().ctx_synchronize());  // the fixture's hold keeps it alive
}

TEST_P(DriverContract, CurrentContextIsAStackOfTheThread) {
  cu::Context current = nullptr;
  cu::Device device = -1;
  ASSERT_CUDA_OK(cuda().ctx_get_current(&current));
  EXPECT_EQ(current, context_);
  ASSERT_CUDA_OK(cuda().ctx_get_device(&device));
  EXPECT_EQ(device, device_);

  cu::Context other = nullptr;
  ASSERT_CUDA_OK(cuda().ctx_create(&other, 0, device_));
  EXPECT_NE(other, context_);
  ASSERT_CUDA_OK(cuda().ctx_get_current(&current));
  EXPECT_EQ(current, other);
  ASSERT_CUDA_OK(cuda().ctx_push_current(context_));
  cu::Context popped = nullptr;
  ASSERT_CUDA_OK(cuda().ctx_pop_current(&popped));
  EXPECT_EQ(popped, context_);
  EXPECT_CUDA_OK(cuda().ctx_destroy(other));  // and pops it
  ASSERT_CUDA_OK(cuda().ctx_get_current(&current));
  EXPECT_EQ(current, context_);
}

TEST_P(DriverContract, CallsWithoutAContextAreRefused) {
  run_threads({[this] {
    cu::Context current = context_;
    EXPECT_CUDA_OK(cuda().ctx_get_current(&current));
    EXPECT_EQ(current, nullptr);
    cu::Device device = 0;
    EXPECT_EQ(cuda().ctx_get_device(&device), cu::kInvalidContext);
    cu::DevicePtr ptr = 0;
    EXPECT_EQ(cuda().mem_alloc(&ptr, grain_), cu::kInvalidContext);
    cu::Stream stream = nullptr;
    EXPECT_EQ(cuda().stream_create(&stream, cu::kStreamNonBlocking), cu::kInvalidContext);
    EXPECT_EQ(cuda().ctx_pop_current(&current), cu::kInvalidContext);
  }});
}

TEST_P(DriverContract, APrimaryContextIsActiveWhileRetained) {
  unsigned flags = 99;
  int active = -1;
  EXPECT_CUDA_OK(cuda().device_primary_ctx_get_state(device_, &flags, &active));
  EXPECT_EQ(flags, 0u);
  EXPECT_TRUE(active == 0 || active == 1) << active;
  cu::Context context = nullptr;
  ASSERT_CUDA_OK(cuda().device_primary_ctx_retain(&context, device_));
  EXPECT_CUDA_OK(cuda().device_primary_ctx_get_state(device_, &flags, &active));
  EXPECT_EQ(active, 1);
  EXPECT_CUDA_OK(cuda().device_primary_ctx_release(device_));
}

}  // namespace tidegate::contract
