#include "src/driver/kernels.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/checksum.h"
#include "src/driver/intercept.h"
#include "tests/driver/null_driver.h"

namespace tidegate::driver {
namespace {

TEST(Kernels, ThePtxHasBothEntries) {
  const std::string_view ptx = kernels_ptx();
  EXPECT_NE(ptx.find(".version 6.4"), std::string_view::npos);
  EXPECT_NE(ptx.find(".visible .entry tidegate_checksum("), std::string_view::npos);
  EXPECT_NE(ptx.find(".visible .entry tidegate_work("), std::string_view::npos);
  EXPECT_EQ(ptx.find('\0'), std::string_view::npos);
  EXPECT_EQ(ptx.data()[ptx.size()], '\0');
}

// Fixed vectors, worked out by another program: the definition must never change, three implementations share it.
TEST(Checksum, FixedVectors) {
  EXPECT_EQ(base::checksum("", 0), 0u);
  const char text[] = "Tidegate";
  EXPECT_EQ(base::checksum(text, 8), 0x1E59D3C3207AFBA2ull);
  std::vector<unsigned char> ramp(1003);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(base::checksum(ramp.data(), 1), 0x4E17CF67001B3979ull);
  EXPECT_EQ(base::checksum(ramp.data(), 1000), 0x796D06776BC7C6FAull);
  EXPECT_EQ(base::checksum(ramp.data(), 1003), 0x692F8894BACAD6B6ull);
}

TEST(Checksum, MayBeSummedInPieces) {
  std::vector<unsigned char> bytes(4096 + 5);
  base::Random random(1);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.next());
  const std::uint64_t whole = base::checksum(bytes.data(), bytes.size());
  EXPECT_EQ(base::checksum(bytes.data(), 1024) + base::checksum(bytes.data() + 1024, bytes.size() - 1024, 128), whole);
}

TEST(CheckKernels, NothingStaysLoadedAfterAFailure) {
  testing_support::NullDriver null;
  unsigned unloads = 0;
  Interceptor driver(null, [&](FunctionId id) -> std::optional<Status> {
    if (id == FunctionId::module_unload) ++unloads;
    if (id == FunctionId::module_get_function) return kNotFound;
    return std::nullopt;
  });
  const Result<CheckKernels> loaded = CheckKernels::load(driver);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().driver_status, static_cast<int>(kNotFound));
  EXPECT_EQ(unloads, 1u);
}

}  // namespace
}  // namespace tidegate::driver
