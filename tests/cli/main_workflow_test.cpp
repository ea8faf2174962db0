// The main workflow on the card that it was made for, as the issue asks it to be shown.
#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.h"

namespace tidegate {
namespace {

nlohmann::json run(const std::string& options) {
  test::TempFolder folder;
  const std::string report = folder.path("report.json");
  const std::string command =
      std::string("'") + TIDEGATE_PROGRAM + "' run '" + TIDEGATE_SOURCE_DIR +
      "/examples/workflows/ltxav-zimage-lumina2.json' --card rtx3050-6g-linux --quiet --report '" + report + "' " +
      options + " >'" + folder.path("out") + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << test::read_file(folder.path("out"));
  return nlohmann::json::parse(test::read_file(report), nullptr, false);
}

void expect_sound(const nlohmann::json& report) {
  ASSERT_TRUE(report.is_object());
  EXPECT_TRUE(report["ok"].get<bool>());
  EXPECT_EQ(report["content_errors"], 0);
  EXPECT_TRUE(report["hazards"].empty());
  EXPECT_LE(report["peak_bytes"], report["budget_bytes"]);
  EXPECT_EQ(report["passes"].size(), 43u);
  for (const char* counters : {"warm_counters", "swap_counters"}) {
    for (const auto& item : report["totals"][counters].items()) EXPECT_EQ(item.value(), 0) << counters << item.key();
  }
}

class MainWorkflow : public testing::TestWithParam<const char*> {};

TEST_P(MainWorkflow, StaysWithinItsBounds) {
  const nlohmann::json report = run(GetParam());
  expect_sound(report);
  if (HasFailure()) return;
  for (const auto& pass : report["passes"]) {
    EXPECT_LE(pass["ratio"].get<double>(), pass["cold"].get<bool>() ? 1.15 : 1.05)
        << pass["step"] << ", pass " << pass["index"];
  }
  EXPECT_LE(report["totals"]["ratio"].get<double>(), 1.10);
}
INSTANTIATE_TEST_SUITE_P(Ratios, MainWorkflow,
                         testing::Values("", "--compute-ratio 0.25", "--compute-ratio 1", "--compute-ratio 4"));

TEST(MainWorkflowContents, EveryByteIsRealAtOneSixteenth) { expect_sound(run("--scale 1/16 --bytes real")); }

}  // namespace
}  // namespace tidegate
