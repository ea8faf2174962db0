#include "tests/contract/sensor_contract.h"

namespace tidegate::contract {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SensorContract);

namespace {

constexpr Bytes kTolerance = 2 * kMiB;  // I7's: what a reading and the books may differ by

void expect_near(Bytes a, Bytes b, Bytes tolerance) { EXPECT_LE(a > b ? a - b : b - a, tolerance) << a << ' ' << b; }

TEST_P(SensorContract, SaysWhoItIsAndWhatItCounts) {
  const auto world = GetParam().make();
  EXPECT_STREQ(world->sensor().name(), GetParam().name);
  const auto read = world->sensor().read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value().scope, GetParam().scope);
  EXPECT_FALSE(read.value().why.empty());
  EXPECT_EQ(read.value().why.find('\n'), std::string::npos);
  EXPECT_GT(read.value().free, 0u);
  EXPECT_TRUE(read.value().total == 0 || read.value().free <= read.value().total);
}

TEST_P(SensorContract, SaysTheSameWhereNothingMoved) {
  const auto world = GetParam().make();
  const auto first = world->sensor().read();
  const auto second = world->sensor().read();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first.value().free, second.value().free);
  EXPECT_EQ(first.value().total, second.value().total);
}

// I5.
TEST_P(SensorContract, FollowsOwnMemoryAndOthersAsItsScopeSays) {
  const auto world = GetParam().make();
  constexpr Bytes kOwn = 512 * kMiB;
  constexpr Bytes kOthers = 768 * kMiB;
  const auto before = world->sensor().read();
  world->take(kOwn);
  const auto own = world->sensor().read();
  world->take_as_other(kOthers);
  const auto others = world->sensor().read();
  ASSERT_TRUE(before && own && others);
  expect_near(before.value().free - own.value().free, kOwn, kTolerance);
  if (GetParam().scope == Scope::kDevice) {
    expect_near(own.value().free - others.value().free, kOthers, kTolerance);
    EXPECT_EQ(others.value().device_free().bytes, others.value().free);
  } else {
    EXPECT_EQ(others.value().free, own.value().free);
    EXPECT_EQ(others.value().process_free().bytes, others.value().free);
  }
}

TEST_P(SensorContract, FailsInOneLineAndComesBack) {
  const auto world = GetParam().make();
  ASSERT_TRUE(world->sensor().read());
  world->fail(true);
  const auto failed = world->sensor().read();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find(GetParam().name), std::string::npos) << failed.error().message;
  EXPECT_EQ(failed.error().message.find('\n'), std::string::npos) << failed.error().message;
  world->fail(false);
  EXPECT_TRUE(world->sensor().read());
}

TEST_P(SensorContract, LookingGivesTheCardNoWork) {
  const auto world = GetParam().make();
  const std::uint64_t before = world->submissions();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(world->sensor().read());
  EXPECT_EQ(world->submissions(), before);
}

}  // namespace
}  // namespace tidegate::contract
