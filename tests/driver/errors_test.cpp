#include "src/driver/errors.h"

#include <gtest/gtest.h>

#include "tests/driver/null_driver.h"

namespace tidegate::driver {
namespace {

class NamingDriver : public testing_support::NullDriver {
 public:
  Status get_error_name(Status status, const char** text) override {
    *text = status == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : nullptr;
    return *text != nullptr ? kSuccess : kInvalidValue;
  }
  Status get_error_string(Status status, const char** text) override {
    *text = status == kOutOfMemory ? "out of memory" : nullptr;
    return *text != nullptr ? kSuccess : kInvalidValue;
  }
};

TEST(DriverError, CarriesNameCodeAndText) {
  NamingDriver driver;
  const Error error = driver_error(driver, kOutOfMemory, "cuMemCreate of a frame");
  EXPECT_EQ(error.code, Errc::kDriver);
  EXPECT_EQ(error.driver_status, 2);
  EXPECT_EQ(error.message, "cuMemCreate of a frame: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
}

TEST(DriverError, UnknownCodesAppearAsNumbers) {
  NamingDriver driver;
  const Error error = driver_error(driver, static_cast<Status>(4711), "cuMemMap");
  EXPECT_EQ(error.message, "cuMemMap: CUDA status (4711)");
  EXPECT_EQ(error.driver_status, 4711);
}

TEST(ErrorCodes, HaveStableNames) {
  EXPECT_STREQ(name_of(Errc::kBelowFloor), "below-floor");
  EXPECT_STREQ(name_of(Errc::kDriverTooOld), "driver-too-old");
  EXPECT_STREQ(name_of(static_cast<Errc>(9999)), "unknown");
}

}  // namespace
}  // namespace tidegate::driver
