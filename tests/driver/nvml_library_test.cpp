#include "src/driver/nvml_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/driver/fake_cuda.h"

namespace tidegate::driver {
namespace {

using testing::HasSubstr;
using testing_support::fake_nvml;

class NvmlLibraryTest : public testing::Test {
 protected:
  void SetUp() override { fake_nvml = {}; }

  static Result<std::unique_ptr<Nvml>> load() {
    LoadOptions options;
    options.resolve = testing_support::fake_nvml_resolver();
    return load_nvml(options);
  }
};

TEST_F(NvmlLibraryTest, ShutsDownWhatItStarted) {
  {
    auto loaded = load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_STREQ((*loaded)->description(), "NVML of driver 580.65.06");
    EXPECT_EQ(fake_nvml.shutdowns, 0);
  }
  EXPECT_EQ(fake_nvml.shutdowns, 1);
}

TEST_F(NvmlLibraryTest, MissingLibraryIsNoDriver) {
  LoadOptions options;
  options.library = "libtidegate-no-such-nvml.so.1";
  auto loaded = load_nvml(options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Errc::kNoDriver);
  EXPECT_THAT(loaded.error().message, HasSubstr("libtidegate-no-such-nvml.so.1"));
}

TEST_F(NvmlLibraryTest, MissingSymbolsAreNamed) {
  fake_nvml.missing = {"nvmlDeviceGetUUID"};
  auto loaded = load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Errc::kDriverTooOld);
  EXPECT_THAT(loaded.error().message, HasSubstr("nvmlDeviceGetUUID"));
}

TEST_F(NvmlLibraryTest, OptionalFunctionsAnswerNotFound) {
  fake_nvml.missing = {"nvmlDeviceGetMemoryInfo_v2"};
  auto loaded = load();
  ASSERT_TRUE(loaded.ok());
  nvml::MemoryV2 memory{};
  EXPECT_EQ((*loaded)->device_get_memory_info_v2(nullptr, &memory), nvml::kFunctionNotFound);
}

TEST_F(NvmlLibraryTest, NoKernelDriverIsNoDriver) {
  fake_nvml.init_status = nvml::kDriverNotLoaded;
  auto loaded = load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Errc::kNoDriver);
  EXPECT_EQ(fake_nvml.shutdowns, 0);
}

TEST_F(NvmlLibraryTest, AMismatchCarriesItsCure) {
  fake_nvml.init_status = nvml::kLibRmVersionMismatch;
  auto loaded = load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Errc::kDriver);
  EXPECT_EQ(loaded.error().driver_status, 18);
  EXPECT_THAT(loaded.error().message, HasSubstr("reboot"));
}

}  // namespace
}  // namespace tidegate::driver
