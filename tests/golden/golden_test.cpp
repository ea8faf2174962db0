// The published traces, played by processes of their own under `tidegate sim exec`, and the same relations with every
// size changed by 37 %. What differed between the published runs is set up here: what other programs held.
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace tidegate {
namespace {

constexpr double kTolerance = 2;  // MiB
constexpr double kNvmlOfUntouched = 64;
constexpr double kDrift = 80;

// Steps of golden_processes, and what they printed.
class Trace {
 public:
  Trace(std::string card, int foreign_mib) : options_("--card " + std::move(card)) {
    if (foreign_mib > 0) options_ += fmt::format(" --foreign {}MiB", foreign_mib);
  }
  // Its place among what is printed.
  std::size_t look(const std::string& step) {
    steps_.push_back(step);
    return looks_++;
  }
  void act(const std::string& step) { steps_.push_back(step); }

  void play(const std::string& more = "") {
    std::string command =
        "timeout -s KILL 200 " TIDEGATE_PROGRAM " sim exec " + options_ + " " + more + " -- " TIDEGATE_GOLDEN_PROCESSES;
    for (const std::string& step : steps_) command += " '" + step + "'";
    const test::CommandOutcome outcome = test::run_command(command + " 2>&1");
    ASSERT_EQ(outcome.code, 0) << outcome.out;
    std::istringstream lines(outcome.out);
    std::string who;
    std::string what;
    std::string number;
    while (lines >> who >> what >> number) said_.push_back(std::stod(number));
    ASSERT_EQ(said_.size(), looks_) << outcome.out;
  }
  double operator[](std::size_t look) const { return said_[look]; }

 private:
  std::string options_;
  std::vector<std::string> steps_;
  std::vector<double> said_;
  std::size_t looks_ = 0;
};

class Golden : public testing::TestWithParam<double> {
 protected:
  double sized(double mib) const { return static_cast<double>(static_cast<long>(mib * GetParam() / 2 + 0.5) * 2); }
  bool as_published() const { return GetParam() == 1.0; }
};

INSTANTIATE_TEST_SUITE_P(Sizes, Golden, testing::Values(1.0, 0.63, 1.37), [](const auto& tested) {
  return std::to_string(static_cast<int>(tested.param * 100)) + "Percent";
});

TEST_P(Golden, Gt1SiblingGrowthIsInvisible) {
  Trace trace("rtx4060ti-16g-wddm", 144);
  trace.act("observer open");
  trace.act("sibling open");
  const std::size_t idle = trace.look("observer free");
  trace.act("sibling grow 137");  // what its libraries take with their first kernels
  const double rows[] = {2'560, 7'168, 11'264, 14'336};
  const double published_nvml[] = {13'107, 8'499, 4'403, 1'331};
  std::vector<std::pair<std::size_t, std::size_t>> looks;
  double grown = 0;
  for (const double row : rows) {
    if (sized(row) > 15'667) break;  // more than the card has: GT-6's matter
    trace.act(fmt::format("sibling grow {}", sized(row) - grown));
    grown = sized(row);
    const std::size_t free = trace.look("observer free");
    looks.emplace_back(free, trace.look("observer nvml"));
  }
  ASSERT_NO_FATAL_FAILURE(trace.play());
  EXPECT_NEAR(trace[idle], 15'221, kTolerance);
  for (std::size_t row = 0; row < looks.size(); ++row) {
    const bool pressed = 15'667 - sized(rows[row]) < 0.2 * 16'186;
    EXPECT_NEAR(trace[looks[row].first], 15'221, pressed ? kDrift : kTolerance) << rows[row];
    EXPECT_NEAR(trace[looks[row].second], 15'667 - sized(rows[row]), kTolerance) << rows[row];
    if (as_published()) {
      EXPECT_NEAR(trace[looks[row].second], published_nvml[row], kTolerance);
    }
  }
}

TEST_P(Golden, Gt2UnderLinuxEverybodySeesTheDevice) {
  Trace trace("rtx3090-24g-linux", 171);
  trace.act("holder open");
  const std::size_t idle = trace.look("holder free");
  const std::size_t idle_nvml = trace.look("holder nvml");
  struct Row {
    double held;
    std::size_t holder, nvml, sibling;
  };
  std::vector<Row> rows;
  double held = 0;
  for (const double gib : {4.0, 10.0}) {
    const double target = sized(gib * 1024);
    trace.act(fmt::format("holder grow {}", target - held));
    held = target;
    const std::size_t holder = trace.look("holder free");
    const std::size_t nvml = trace.look("holder nvml");
    const std::string sibling = fmt::format("sibling{}", rows.size());
    trace.act(sibling + " open");
    rows.push_back({held, holder, nvml, trace.look(sibling + " free")});
    trace.act(sibling + " exit");
  }
  ASSERT_NO_FATAL_FAILURE(trace.play());
  EXPECT_NEAR(trace[idle], 23'687, kTolerance);
  EXPECT_NEAR(trace[idle_nvml], 23'688, kTolerance);
  for (const Row& row : rows) {
    EXPECT_NEAR(trace[row.holder], 23'687 - row.held, kTolerance);
    EXPECT_NEAR(trace[row.nvml], 23'688 - row.held, kTolerance);
    EXPECT_NEAR(trace[row.sibling], 23'687 - 262 - row.held, kTolerance) << "its own context";
  }
}

TEST_P(Golden, Gt3UntouchedMemoryIsChargedButNotResident) {
  Trace trace("rtx4060ti-16g-wddm", 0);
  trace.act("holder open");
  trace.act("sibling open");
  const std::size_t holder_idle = trace.look("holder free");
  const std::size_t sibling_idle = trace.look("sibling free");
  const std::size_t nvml_idle = trace.look("holder nvml");
  struct Row {
    double held;
    std::size_t holder, sibling, nvml;
  };
  std::vector<Row> rows;
  double held = 0;
  for (const double gib : {4.0, 10.0}) {
    const double target = sized(gib * 1024);
    trace.act(fmt::format("holder take {}", target - held));
    held = target;
    const std::size_t holder = trace.look("holder free");
    const std::size_t sibling = trace.look("sibling free");
    rows.push_back({held, holder, sibling, trace.look("holder nvml")});
  }
  ASSERT_NO_FATAL_FAILURE(trace.play());
  EXPECT_NEAR(trace[holder_idle], 15'223, kTolerance);
  EXPECT_NEAR(trace[sibling_idle], 15'223, kTolerance);
  EXPECT_NEAR(trace[nvml_idle], 15'948, kNvmlOfUntouched);
  const double nvml[] = {14'037, 14'101};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    EXPECT_NEAR(trace[rows[row].holder], 15'223 - rows[row].held, kTolerance);
    EXPECT_NEAR(trace[rows[row].sibling], 15'223, kTolerance);
    EXPECT_NEAR(trace[rows[row].nvml], nvml[row], kNvmlOfUntouched);
  }
}

// The parent is served at full speed; the sibling pays with its next pass, once.
TEST_P(Golden, Gt6AnIdleSiblingPaysForAnothersGrowth) {
  Trace trace("rtx4060ti-16g-wddm", 0);
  trace.act("sibling open");
  trace.act("parent open");
  trace.act("other open");
  trace.act(fmt::format("sibling grow {}", sized(8'192)));
  const std::size_t first = trace.look("sibling pass");
  trace.act("other fill 109");
  const std::size_t left = trace.look("parent nvml");
  trace.act(fmt::format("parent grow {}", sized(8'192)));
  const std::size_t parent = trace.look("parent pass");
  const std::size_t demoted = trace.look("sibling pass");
  const std::size_t again = trace.look("sibling pass");
  ASSERT_NO_FATAL_FAILURE(trace.play());
  EXPECT_NEAR(trace[left], 109, kTolerance);
  EXPECT_GT(trace[parent], 0.9 * trace[first]);
  EXPECT_LT(trace[demoted], trace[first] / 20);
  EXPECT_GT(trace[again], 0.9 * trace[first]);
}

TEST_P(Golden, Gt7AThirdProcessRepartitions) {
  Trace trace("rtx4060ti-16g-wddm", 0);
  trace.act("observer open");
  trace.act("sibling open");
  trace.act(fmt::format("sibling grow {}", sized(7'168)));
  const std::size_t before = trace.look("observer free");
  trace.act("third open");
  trace.act("third grow 50");
  const std::size_t after = trace.look("observer free");
  const std::size_t nvml = trace.look("observer nvml");
  ASSERT_NO_FATAL_FAILURE(trace.play());
  EXPECT_NEAR(trace[before], 15'223, kTolerance);
  EXPECT_NEAR(trace[after], trace[nvml] + 533, kTolerance);
}

// A pager that maps and releases as it goes, through the models of the crash report, beside two programs that look at
// their memory now and then. (H-1 as well, over seeds: tests/wddm/gt9_test.cpp.)
TEST(GoldenCrash, Gt9AChurningPagerIsCaught) {
  const test::TempFolder folder;
  const std::string file = folder.path("hazards.json");
  Trace trace("rtx3050-6g-wddm", 0);
  for (const char* step : {"a open", "a grow 256", "b open", "b grow 2048", "pager open", "a busy 400 50000 &",
                           "b busy 400 50000 &", "pager churn 20484 7671 11738"}) {
    trace.act(step);
  }
  ASSERT_NO_FATAL_FAILURE(trace.play("--tags --hazards '" + file + "'"));
  const auto hazards = nlohmann::json::parse(test::read_file(file));
  EXPECT_GT(hazards["hit_counts"].value("H-2", 0), 0) << hazards["hit_counts"].dump();
}

}  // namespace
}  // namespace tidegate
