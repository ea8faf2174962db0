// What loading the driver says when something is amiss.
#include "src/driver/cuda_driver.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/driver/fake_cuda.h"

namespace tidegate::driver {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::fake_cuda;

class CudaDriverTest : public testing::Test {
 protected:
  void SetUp() override { fake_cuda = {}; }

  static Result<std::unique_ptr<Driver>> load() {
    LoadOptions options;
    options.resolve = testing_support::fake_cuda_resolver();
    return load_cuda_driver(options);
  }
  static Error load_error() {
    auto loaded = load();
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  }
};

TEST_F(CudaDriverTest, LoadsAndForwards) {
  auto loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  Driver& driver = **loaded;
  EXPECT_STREQ(driver.description(), "CUDA driver 12.8");
  int count = 0;
  EXPECT_EQ(driver.device_get_count(&count), kSuccess);
  EXPECT_EQ(count, 1);
}

TEST_F(CudaDriverTest, MissingLibraryIsNoDriver) {
  LoadOptions options;
  options.library = "libtidegate-no-such-driver.so.1";
  auto loaded = load_cuda_driver(options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Errc::kNoDriver);
  EXPECT_THAT(loaded.error().message, AllOf(HasSubstr("libtidegate-no-such-driver.so.1"), HasSubstr("install")));
}

TEST_F(CudaDriverTest, AnyOtherLibraryIsNoDriver) {
  fake_cuda.missing = {"cuInit"};
  const Error error = load_error();
  EXPECT_EQ(error.code, Errc::kNoDriver);
  EXPECT_THAT(error.message, HasSubstr("is not a CUDA driver"));
}

TEST_F(CudaDriverTest, MissingSymbolsAreNamed) {
  fake_cuda.missing = {"cuMemCreate", "cuMemMap"};
  fake_cuda.version = 10010;
  const Error error = load_error();
  EXPECT_EQ(error.code, Errc::kDriverTooOld);
  EXPECT_THAT(error.message, AllOf(HasSubstr("cuMemCreate, cuMemMap;"), HasSubstr("10.1"), HasSubstr("11.4")));
}

TEST_F(CudaDriverTest, ManyMissingSymbolsAreCounted) {
  fake_cuda.missing = {"cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease", "cuLaunchKernel"};
  EXPECT_THAT(load_error().message, HasSubstr("and 2 more"));
}

TEST_F(CudaDriverTest, OldVersionsAreRefused) {
  fake_cuda.version = kMinimumDriverVersion - 10;
  const Error error = load_error();
  EXPECT_EQ(error.code, Errc::kDriverTooOld);
  EXPECT_THAT(error.message, AllOf(HasSubstr("11.3"), HasSubstr("11.4")));
}

TEST_F(CudaDriverTest, OptionalSymbolsMayBeMissing) {
  fake_cuda.missing = {"cuMemAllocAsync"};
  auto loaded = load();
  ASSERT_TRUE(loaded.ok());
  DevicePtr ptr = 0;
  EXPECT_EQ((*loaded)->mem_alloc_async(&ptr, 1, nullptr), kNotSupported);
}

TEST_F(CudaDriverTest, TheStubIsNoDriver) {
  fake_cuda.init_status = kStubLibrary;
  EXPECT_EQ(load_error().code, Errc::kNoDriver);
  EXPECT_THAT(load_error().message, HasSubstr("stub"));

  fake_cuda = {};  // an old toolkit's stub, which lacks symbols besides
  fake_cuda.version_status = kStubLibrary;
  fake_cuda.missing = {"cuMemCreate"};
  EXPECT_EQ(load_error().code, Errc::kNoDriver);
}

TEST_F(CudaDriverTest, NoDeviceIsSaid) {
  fake_cuda.init_status = kNoDevice;
  EXPECT_EQ(load_error().code, Errc::kNoDevice);
  fake_cuda = {};
  fake_cuda.device_count = 0;
  EXPECT_EQ(load_error().code, Errc::kNoDevice);
  EXPECT_THAT(load_error().message, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST_F(CudaDriverTest, OtherFailuresCarryTheDriversText) {
  fake_cuda.init_status = kSystemDriverMismatch;
  const Error error = load_error();
  EXPECT_EQ(error.code, Errc::kDriver);
  EXPECT_EQ(error.driver_status, 803);
  EXPECT_THAT(error.message, AllOf(HasSubstr("cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): system has"),
                                   HasSubstr("reboot"), testing::Not(HasSubstr("\n"))));
}

// Whatever this machine has: a driver, or a reason why not.
TEST(CudaDriverOnThisMachine, LoadsOrSaysWhyNot) {
  auto loaded = load_cuda_driver();
  if (loaded.ok()) {
    EXPECT_NE(std::string((*loaded)->description()), "");
    return;
  }
  EXPECT_NE(loaded.error().message, "");
  EXPECT_NE(loaded.error().code, Errc{});
}

}  // namespace
}  // namespace tidegate::driver
