// `tidegate probe`, `status` and `hold` on simulated cards, as other people run them: under `tidegate sim exec`.
#include "cli/probe.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"
#include "tidegate/bytes.h"

namespace tidegate {
namespace {

using nlohmann::json;
using testing::HasSubstr;

test::CommandOutcome on(const std::string& options, const std::string& command) {
  return test::run_command("timeout -s KILL 250 " TIDEGATE_PROGRAM " sim exec " + options + " -- " + command);
}

json probe(const std::string& options) {
  const auto outcome = on(options, TIDEGATE_PROGRAM " probe --json --quiet");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  return json::parse(outcome.out, nullptr, false);
}

double mib(const json& bytes) { return bytes.get<double>() / static_cast<double>(kMiB); }

json row(const json& probed, bool beside, const char* by, bool touched, double held_mib) {
  for (const json& row : probed["readings"]) {
    if (row["beside"] == beside && row["by"] == by && row["touched"] == touched && mib(row["held_bytes"]) == held_mib) {
      return row;
    }
  }
  ADD_FAILURE() << "no row of " << by << " with " << held_mib;
  return {};
}

json sensor(const json& probed, const char* name) {
  for (const json& sensor : probed["sensors"]) {
    if (sensor["name"] == name) return sensor;
  }
  ADD_FAILURE() << "no sensor " << name;
  return {};
}

// GT-3: holder 15,223 / 11,127 / 4,983; sibling 15,223 three times; NVML 15,948 / 14,037 / 14,101 (the profile has the
// middle of the two falls of NVML, hence 32; the budget that of GT-1 and GT-3, hence 2).
TEST(Probe, PrintsGt3) {
  const json probed = probe("--card rtx4060ti-16g-wddm");
  ASSERT_TRUE(probed.is_object());
  const double holder[] = {15'223, 11'127, 4'983};
  const double nvml[] = {15'948, 14'037, 14'101};
  const double held[] = {0, 4'096, 10'240};
  for (const char* by : {"cuMemAlloc", "VMM"}) {
    for (int i = 0; i < 3; ++i) {
      const json told = row(probed, true, by, false, held[i]);
      EXPECT_NEAR(mib(told["holder_free_bytes"]), holder[i], 2) << by << ' ' << held[i];
      EXPECT_NEAR(mib(told["free_bytes"]["cuMemGetInfo"]), 15'223, 2) << by << ' ' << held[i];
      EXPECT_NEAR(mib(told["free_bytes"]["DXGI"]), 15'223, 2) << by << ' ' << held[i];
      EXPECT_NEAR(mib(told["free_bytes"]["NVML"]), nvml[i], i == 0 ? 1 : 33) << by << ' ' << held[i];
      EXPECT_NEAR(mib(told["free_bytes"]["D3DKMT"]), 15'948 - held[i], 1) << by << ' ' << held[i];
    }
    EXPECT_NEAR(mib(row(probed, true, by, true, 10'240)["free_bytes"]["NVML"]), 5'708, 2);
  }
  EXPECT_EQ(sensor(probed, "NVML")["scope"], "device");
  EXPECT_EQ(sensor(probed, "D3DKMT")["scope"], "device");
  EXPECT_EQ(sensor(probed, "cuMemGetInfo")["scope"], "process");
  EXPECT_EQ(sensor(probed, "DXGI")["scope"], "process");
  EXPECT_EQ(sensor(probed, "MemAvailable")["scope"], "unknown");
  EXPECT_THAT(sensor(probed, "cuMemGetInfo")["evidence"].get<std::string>(), HasSubstr("10240 MiB"));
  EXPECT_EQ(mib(probed["context"]["bytes"]), 119);
  EXPECT_EQ(mib(probed["driver_reserve_bytes"]), 194);
}

// GT-2 (L-1): the holder and nvidia-smi while there is one process; the sibling beside it. 171 MiB were held by others
// in that run: 24,122 less the context's 264 less the 23,687 told.
TEST(Probe, PrintsGt2) {
  const json probed = probe("--card rtx3090-24g-linux --foreign 171MiB");
  ASSERT_TRUE(probed.is_object());
  const double holder[] = {23'687, 19'591, 13'447};
  const double smi[] = {23'688, 19'592, 13'448};
  const double sibling[] = {0, 19'329, 13'185};  // the first was read with one process
  const double held[] = {0, 4'096, 10'240};
  for (int i = 0; i < 3; ++i) {
    const json alone = row(probed, false, "cuMemAlloc", false, held[i]);
    EXPECT_NEAR(mib(alone["holder_free_bytes"]), holder[i], 2);
    EXPECT_NEAR(mib(alone["free_bytes"]["NVML"]), smi[i], 2);
    for (const char* by : {"cuMemAlloc", "VMM"}) {
      const json beside = row(probed, true, by, i > 0, held[i]);
      if (i > 0) {
        EXPECT_NEAR(mib(beside["free_bytes"]["cuMemGetInfo"]), sibling[i], 2);
      }
      EXPECT_EQ(beside["free_bytes"]["cuMemGetInfo"], beside["free_bytes"]["NVML"]);
    }
  }
  EXPECT_EQ(sensor(probed, "NVML")["scope"], "device");
  EXPECT_EQ(sensor(probed, "cuMemGetInfo")["scope"], "device");
  EXPECT_EQ(sensor(probed, "DXGI")["scope"], "unknown");
  EXPECT_EQ(mib(probed["context"]["bytes"]), 264);
  EXPECT_EQ(mib(probed["driver_reserve_bytes"]), 454);
}

TEST(Probe, AScopeNeedsAClearMovement) {
  EXPECT_EQ(cli::scope_shown(1000, 1000), Scope::kDevice);
  EXPECT_EQ(cli::scope_shown(0, 1000), Scope::kProcess);
  EXPECT_EQ(cli::scope_shown(500, 1000), Scope::kUnknown);
  EXPECT_EQ(cli::scope_shown(-700, 1000), Scope::kUnknown);
  EXPECT_EQ(cli::scope_shown(0, 0), Scope::kUnknown);
}

TEST(Probe, SaysThatItMakesAContextAndWhatIsWrong) {
  EXPECT_THAT(test::run_command(TIDEGATE_PROGRAM " probe --help").out, HasSubstr("creates a context"));
  EXPECT_EQ(on("--card rtx3050-6g-linux", TIDEGATE_PROGRAM " probe --card 3 2>/dev/null").code, 2);
  EXPECT_EQ(on("--card rtx3050-6g-linux", TIDEGATE_PROGRAM " probe --hold 2GiB --hold 1GiB 2>/dev/null").code, 2);
}

// A holder that knows nothing of Tidegate is seen by status, and goes when it is asked to.
TEST(Hold, IsSeenByStatusAndEndsWithItsSignal) {
  const test::TempFolder folder;
  const std::string said = folder.path("said");
  const std::string script = folder.write("hold.sh", TIDEGATE_PROGRAM " hold --foreign 2GiB 2>" + said + ".progress >" +
                                                         said + " &\n" + "until grep -q holding " + said +
                                                         "; do sleep 0.02; done\n" TIDEGATE_PROGRAM
                                                         " status --json\nkill -INT $!\nwait $!\necho ended $?\n");
  const auto outcome = on("--card rtx3090-24g-linux", "sh " + script);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("ended 130"));
  const std::string held = std::to_string(2 * kGiB + 264 * kMiB);
  EXPECT_THAT(outcome.out, HasSubstr("\"bytes\":" + held)) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("\"free_bytes\":" + std::to_string((24'122 - 264) * kMiB - 2 * kGiB)));
}

// As a seat it is in the ledger, with its terms, and what does not fit beside promises is refused.
TEST(Hold, AsASeatIsShownWithItsTerms) {
  const test::TempFolder folder;
  const std::string said = folder.path("said");
  const std::string script = folder.write(
      "seat.sh", "export TIDEGATE_LEDGER_DIR=" + folder.path("ledger") + "\n" TIDEGATE_PROGRAM " hold 2GiB 2>" + said +
                     ".progress >" + said + " &\nuntil grep -q holding " + said +
                     "; do sleep 0.02; done\n" TIDEGATE_PROGRAM " status --json\n" TIDEGATE_PROGRAM
                     " hold 22GiB 2>/dev/null; echo refused $?\nkill -INT $!\nwait $!\n");
  const auto outcome = on("--card rtx3090-24g-linux", "sh " + script);
  EXPECT_THAT(outcome.out, HasSubstr("refused 1")) << outcome.out;
  const json status = json::parse(outcome.out.substr(0, outcome.out.find('\n')), nullptr, false);
  ASSERT_TRUE(status.is_object() && status["seats"].size() == 1) << outcome.out;
  EXPECT_EQ(status["seats"][0]["name"], "hold");
  EXPECT_EQ(status["seats"][0]["terms"]["resident"], 2 * kGiB);
  EXPECT_EQ(status["seats"][0]["held_bytes"], 2 * kGiB);
  EXPECT_EQ(status["foreign_bytes"], 264 * kMiB);  // its context, which it does not book
}

TEST(Hold, SaysWhatTheCardHasNot) {
  const auto outcome = on("--card rtx3050-6g-linux", TIDEGATE_PROGRAM " hold --foreign 7GiB 2>&1");
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("after 5.00 GiB: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(on("--card rtx3050-6g-linux", TIDEGATE_PROGRAM " hold --foreign many 2>/dev/null").code, 2);
}

TEST(Status, SaysWhichSensorPrevailedAndMakesNoContext) {
  const auto outcome = on("--card rtx4060ti-16g-wddm --foreign 1GiB", TIDEGATE_PROGRAM " status --json");
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const json status = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(mib(status["free_bytes"]), 16'186 - 1'024);  // no context's 119
  EXPECT_THAT(status["decision"].get<std::string>(), HasSubstr(" prevails: 15162 MiB free, 0 MiB below the next"));
  EXPECT_TRUE(status["processes"].empty());
}

}  // namespace
}  // namespace tidegate
