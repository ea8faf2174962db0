// `tidegate sim exec` with programs that share its card: tests/support/programs/broker_client.cpp and a C program.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/temp_folder.h"

namespace tidegate {
namespace {

constexpr const char* kClient = TIDEGATE_BROKER_CLIENT;

struct Outcome {
  int status = -1;
  std::string output;  // of stdout and stderr
};

Outcome run(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char part[4096];
  while (const std::size_t got = std::fread(part, 1, sizeof part, pipe)) outcome.output.append(part, got);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Outcome sim_exec(const std::string& options, const std::string& command) {
  return run("timeout -s KILL 200 " TIDEGATE_PROGRAM " sim exec --card rtx3050-6g-linux " + options + " -- " + command);
}

std::string client(const std::string& arguments) { return std::string(kClient) + " " + arguments; }

TEST(SimExec, AnswersTheCommandsStatus) {
  EXPECT_EQ(sim_exec("", client("exit 7")).status, 7);
  EXPECT_EQ(sim_exec("", "sh -c 'kill -TERM $$'").status, 128 + SIGTERM);
}

TEST(SimExec, SaysWhatIsWrong) {
  const Outcome no_program = sim_exec("", "no-such-program-of-tidegate");
  EXPECT_EQ(no_program.status, 127);
  EXPECT_NE(no_program.output.find("no-such-program-of-tidegate: No such file"), std::string::npos)
      << no_program.output;
  const Outcome no_card = run(TIDEGATE_PROGRAM " sim exec --card no-such-card -- true");
  EXPECT_EQ(no_card.status, 2);
  EXPECT_NE(no_card.output.find("no-such-card"), std::string::npos) << no_card.output;
  EXPECT_EQ(sim_exec("--seed x", "true").status, 2);
  EXPECT_EQ(sim_exec("--hazards /no/such/folder/file", "true").status, 2);
}

// Cards of two worlds with one seed have one UUID, and with it one name for their ledger.
TEST(SimExec, EachWorldHasALedgerFolderOfItsOwn) {
  const auto folder_of_a_world = [](const std::string& before) {
    const std::string program = "sh -c 'test -d \"$TIDEGATE_LEDGER_DIR\" && echo \"$TIDEGATE_LEDGER_DIR\"'";
    const Outcome told =
        run("(" + before + TIDEGATE_PROGRAM " sim exec --card rtx3050-6g-linux -- " + program + " 2>/dev/null)");
    EXPECT_EQ(told.status, 0) << told.output;
    return told.output.substr(0, told.output.find('\n'));
  };
  const std::string first = folder_of_a_world("");
  EXPECT_NE(first, folder_of_a_world(""));
  EXPECT_NE(run("test -e '" + first + "'").status, 0) << "it goes with the world";
  EXPECT_EQ(folder_of_a_world("TIDEGATE_LEDGER_DIR=/tmp "), "/tmp");
}

// L-1.
TEST(SimExec, ProcessesSeeEachOthersMemory) {
  const Outcome outcome = sim_exec("", client("share"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("held 778 MiB"), std::string::npos) << outcome.output;
}

TEST(SimExec, RefusesAForkedChildAsARealDriverDoes) {
  const Outcome outcome = sim_exec("", client("forks"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

// I10.
TEST(SimExec, SameSeedSameRunWithFourProcesses) {
  const test::TempFolder folder;
  const std::string script = folder.write("four.sh", "for i in 1 2 3 4; do " + client("work $i") + " & done; wait\n");
  const auto results = [&](const std::string& seed) {
    const Outcome outcome = sim_exec(
        "--seed " + seed + " --hazards " + folder.path("hazards") + " --trace " + folder.path("trace"), "sh " + script);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(outcome.output.find("mem_alloc"), std::string::npos) << outcome.output;
    return std::pair(test::read_file(folder.path("hazards")), test::read_file(folder.path("trace")));
  };
  const auto first = results("11");
  EXPECT_NE(first.first.find("UNWRITTEN"), std::string::npos);
  EXPECT_NE(first.second.find("process 4 stream_synchronize"), std::string::npos);
  for (int round = 0; round < 2; ++round) {
    const auto again = results("11");
    EXPECT_TRUE(again.first == first.first) << "the hazards differ";
    EXPECT_TRUE(again.second == first.second) << "the traces differ";
  }
  EXPECT_FALSE(results("12").second == first.second) << "the seed decides nothing";
}

// I8.
TEST(SimExec, OutlivesClientsThatAreKilledAnywhere) {
  const char* nightly = std::getenv("TIDEGATE_NIGHTLY");
  const std::string times = nightly != nullptr && std::string(nightly) == "1" ? "1000" : "150";
  const Outcome outcome = sim_exec("", client("kill " + times + " 1"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("killed " + times), std::string::npos) << outcome.output;
}

TEST(SimExec, WritesTheHazardsOfACommandThatFails) {
  const test::TempFolder folder;
  const Outcome outcome = sim_exec("--hazards " + folder.path("hazards"), "sh -c '" + client("work 1") + "; exit 3'");
  EXPECT_EQ(outcome.status, 3) << outcome.output;
  const std::string written = test::read_file(folder.path("hazards"));
  EXPECT_NE(written.find("\"rule\": \"UNWRITTEN\""), std::string::npos) << written;
  EXPECT_NE(written.find("\"mem_alloc\": "), std::string::npos) << written;
  EXPECT_NE(written.find("\"hit_counts\": {"), std::string::npos) << written;
  EXPECT_EQ(written.find("\"bytes_to_card\": 0,"), std::string::npos) << written;
}

TEST(SimExec, InProcessSaysWhatItCannotDo) {
  EXPECT_EQ(sim_exec("--in-process --stats", "true").status, 2);
  EXPECT_EQ(sim_exec("--in-process", "no-such-program-of-tidegate").status, 127);
  const Outcome outcome = sim_exec("--in-process", client("exit 7"));
  EXPECT_EQ(outcome.status, 7) << outcome.output;
}

TEST(SimExec, ServesInRealTimeToo) { EXPECT_EQ(sim_exec("--real-time", client("work 1")).status, 0); }

TEST(SimExec, PassesSignalsOn) {
  const Outcome outcome =
      sim_exec("", R"(sh -c 'trap "echo heard; exit 5" TERM; kill -TERM $PPID; while :; do sleep 0.01; done')");
  EXPECT_EQ(outcome.status, 5) << outcome.output;
  EXPECT_NE(outcome.output.find("heard"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace tidegate
