// The user's switch decides for programs that name no mode.
#include <cstdlib>

#include <gtest/gtest.h>

#include "sim/open_card.h"
#include "tidegate/pager.h"

namespace tidegate {
namespace {

class ModeVariable : public testing::Test {
 protected:
  ~ModeVariable() override { ::unsetenv(kModeVariable); }

  // Whether a pager that names `mode` reserves an arena for mapped frames.
  static bool maps_frames(std::optional<Mode> mode) {
    auto card = sim::SimCard::open("rtx3050-6g-linux", {});
    EXPECT_TRUE(card.ok());
    const auto pager = Pager::create(**card, {.budget = 256 * kMiB, .mode = mode});
    EXPECT_TRUE(pager.ok());
    return (*card)->process().stats().count(driver::FunctionId::mem_address_reserve) > 0;
  }
};

TEST_F(ModeVariable, DecidesWhereTheProgramNamesNone) {
  EXPECT_TRUE(maps_frames(std::nullopt));
  ::setenv(kModeVariable, "static", 1);
  EXPECT_FALSE(maps_frames(std::nullopt));
  EXPECT_TRUE(maps_frames(Mode::kDynamic));
}

TEST_F(ModeVariable, IsRefusedByNameWhereItIsWrong) {
  ::setenv(kModeVariable, "fast", 1);
  auto card = sim::SimCard::open("rtx3050-6g-linux", {});
  ASSERT_TRUE(card.ok());
  const auto pager = Pager::create(**card, {.budget = 256 * kMiB});
  ASSERT_FALSE(pager.ok());
  EXPECT_EQ(pager.error().code, Errc::kInvalidArgument);
  EXPECT_NE(pager.error().message.find("TIDEGATE_MODE is 'fast'"), std::string::npos) << pager.error().message;
}

}  // namespace
}  // namespace tidegate
