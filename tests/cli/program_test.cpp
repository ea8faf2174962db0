// The built program, from outside: exit codes, one-line errors, reports.
#include <array>
#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

#if !defined(_WIN32)
#include <sys/wait.h>
#endif

namespace tidegate {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kExamples = TIDEGATE_SOURCE_DIR "/examples/workflows/";

class Program : public testing::Test {
 protected:
  struct Outcome {
    int code = -1;
    std::string out;
    std::string err;
  };

  Outcome run(const std::string& arguments) {
    const std::string err = folder_.path("stderr");
    const std::string command = std::string("'") + TIDEGATE_PROGRAM + "' " + arguments + " 2>'" + err + "'";
    const test::CommandOutcome ran = test::run_command(command);
    Outcome outcome{ran.code, ran.out, ""};
    outcome.err = test::read_file(err);
    std::filesystem::remove(err);
    return outcome;
  }

  Outcome run_tiny(const std::string& arguments) {
    return run("run '" + std::string(kExamples) + "tiny.json' --card rtx3050-6g-linux --quiet " + arguments);
  }

  // One line on stderr, and nothing else said.
  void expect_refusal(const Outcome& outcome, const std::string& says, int code = 2) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says));
    EXPECT_THAT(outcome.out, Not(HasSubstr("ok")));
  }

  test::TempFolder folder_;
};

TEST_F(Program, SaysItsVersionAndHelps) {
  Outcome outcome = run("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, testing::StartsWith("tidegate " TIDEGATE_VERSION));
  outcome = run("--help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("run"));
  outcome = run("run --help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("--vram"));
}

TEST_F(Program, RefusesBadUsage) {
  expect_refusal(run(""), "subcommand");
  expect_refusal(run("run"), "input");
  expect_refusal(run("jump"), "jump");
  expect_refusal(run_tiny("--frobnicate"), "--frobnicate");
  expect_refusal(run_tiny("--seed x"), "--seed");
  expect_refusal(run_tiny("--vram 6"), "--vram");
  expect_refusal(run_tiny("--vram 1KiB"), "budget");
  expect_refusal(run_tiny("--vram 1MiB"), "budget");
  expect_refusal(run("run '" + std::string(kExamples) + "tiny.json' --card no-such-card"), "rtx3050-6g-linux");
  expect_refusal(run("run '" + std::string(kExamples) + "tiny.json' --card cuda:x"), "cuda:N");
}

TEST_F(Program, RefusesBadInput) {
  expect_refusal(run("run '" + folder_.path("missing.json") + "'"), "missing.json");
  expect_refusal(run("run '" + folder_.path() + "'"), "directory");
  expect_refusal(run("run '" + folder_.write("a.json", "{") + "'"), "not valid JSON");
  expect_refusal(run("run '" + folder_.write("b.json", R"({"color":"red"})") + "'"), "unknown key 'color'");
  expect_refusal(run("run '" + folder_.write("c.safetensors", "1234") + "'"), "c.safetensors");
}

TEST_F(Program, RefusesABlockLargerThanTheBudget) {
  const std::string path =
      folder_.write("big.json", R"({"tidegate_workflow":1,"name":"n","models":[{"name":"m","groups":[{"tensors":[)"
                                R"({"name":"whale","shape":[1048576,1024],"dtype":"u8","op":"elementwise"}]}]}],)"
                                R"("steps":[{"label":"go","model":"m","passes":1}]})");
  expect_refusal(run("run '" + path + "' --card rtx3050-6g-linux --vram 512MiB -q"), "whale");
}

TEST_F(Program, RunsAndReportsTheSameTwice) {
  for (const char* name : {"a.json", "b.json"}) {
    const Outcome outcome = run_tiny("--vram 24MiB --bytes real --seed 7 --report '" + folder_.path(name) + "'");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("\nok\n"));
  }
  const std::string first = test::read_file(folder_.path("a.json"));
  EXPECT_EQ(first, test::read_file(folder_.path("b.json")));
  EXPECT_EQ(folder_.file_count(), 2u);

  const auto report = nlohmann::json::parse(first);
  EXPECT_TRUE(report["ok"].get<bool>());
  EXPECT_EQ(report["driver"], "sim");
  EXPECT_EQ(report["card"], "rtx3050-6g-linux");
  EXPECT_EQ(report["mode"], "dynamic");
  EXPECT_EQ(report["content_errors"], 0);
  EXPECT_TRUE(report["hazards"].empty());
  EXPECT_EQ(report["budget_bytes"], 24 << 20);
  EXPECT_LE(report["peak_bytes"], report["budget_bytes"]);
  EXPECT_EQ(report["passes"].size(), 13u);
  EXPECT_TRUE(report["passes"][0]["cold"].get<bool>());
  EXPECT_FALSE(report["passes"][1]["cold"].get<bool>());
  EXPECT_EQ(report["totals"]["warm_counters"]["device_synchronises"], 0);
  EXPECT_EQ(report["totals"]["swap_counters"]["device_synchronises"], 0);
}

TEST_F(Program, RunsInEveryModePolicyAndRatio) {
  for (const char* options :
       {"--vram 24MiB --mode static", "--mode off", "--vram 24MiB --policy tail", "--vram 24MiB --policy lru",
        "--vram 24MiB --compute-ratio 0.25", "--vram 24MiB --compute-ratio 4 --bytes real", "--vram 32MiB --scale 1/2",
        "--passes 2 --tflops 2.5"}) {
    const Outcome outcome = run_tiny(options);
    EXPECT_EQ(outcome.code, 0) << options << "\n" << outcome.out << outcome.err;
  }
}

TEST_F(Program, TakesTheModeFromItsVariableUnlessTold) {
  const std::string report = folder_.path("report.json");
  const auto mode_of = [&](const char* value, const std::string& option) {
    ::setenv("TIDEGATE_MODE", value, 1);
    const Outcome outcome = run_tiny("--vram 24MiB --report '" + report + "'" + option);
    ::unsetenv("TIDEGATE_MODE");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(test::read_file(report))["mode"].get<std::string>();
  };
  EXPECT_EQ(mode_of("static", ""), "static");
  EXPECT_EQ(mode_of("static", " --mode dynamic"), "dynamic");
  EXPECT_EQ(mode_of("", ""), "dynamic");
  ::setenv("TIDEGATE_MODE", "dynamik", 1);
  const Outcome outcome = run_tiny("--vram 24MiB");
  ::unsetenv("TIDEGATE_MODE");
  expect_refusal(outcome, "TIDEGATE_MODE is 'dynamik'; it takes dynamic, static or off");
}

TEST_F(Program, MakesDoWithLittleHostMemory) {
  const std::string report = folder_.path("report.json");
  Outcome outcome = run_tiny("--bytes real --vram 16MiB --host-memory 60MiB --report '" + report + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  auto json = nlohmann::json::parse(test::read_file(report));
  EXPECT_EQ(json["staged"], "one model at a time");
  EXPECT_EQ(json["scale"], 1.0);
  EXPECT_EQ(json["passes"].size(), 13u);

  outcome = run_tiny("--bytes real --vram 16MiB --host-memory 24MiB --report '" + report + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  json = nlohmann::json::parse(test::read_file(report));
  EXPECT_EQ(json["scale"], 0.5);
  EXPECT_EQ(json["scale_asked"], 1.0);
}

TEST_F(Program, WithoutPagingTellsWhatDoesNotFit) {
  const Outcome outcome =
      run("run '" + std::string(kExamples) + "ltxav-zimage-lumina2.json' --card rtx3050-6g-linux --mode off -q");
  expect_refusal(outcome, "does not fit", 1);
}

TEST_F(Program, LeavesNothingBehindWhereTheReportCannotBeWritten) {
  expect_refusal(run_tiny("--report '" + folder_.path("no/such/folder.json") + "'"), "--report");
  expect_refusal(run_tiny("--report '" + folder_.path() + "'"), "--report");
  EXPECT_EQ(folder_.file_count(), 0u);
#if defined(__linux__)
  const Outcome full = run_tiny("--report /dev/full");
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
#endif
}

TEST_F(Program, StopsAfterTheLeaseOnASignal) {
  const std::string command = "run '" + std::string(kExamples) +
                              "two-models-alternating.json' --card rtx3050-6g-linux --real-time --passes 1000 --quiet "
                              "--report '" +
                              folder_.path("report.json") + "'";
  for (const auto& [name, code] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
    // The shell becomes the program, so that the signal finds it.
    const std::string err = folder_.path("err");
    const std::string script = std::string("sh -c 'sleep 0.5; kill -") + name + " $PPID' & exec '" + TIDEGATE_PROGRAM +
                               "' " + command + " 2>'" + err + "'";
    const int status = std::system(script.c_str());
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, code);
    const std::string said = test::read_file(err);
    EXPECT_THAT(said, HasSubstr(std::string("stopped by SIG") + name));
    std::filesystem::remove(err);
    EXPECT_EQ(folder_.file_count(), 0u);
  }
}

}  // namespace
}  // namespace tidegate
