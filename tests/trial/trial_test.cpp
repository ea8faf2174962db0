// The trial's host: its trace of needs, and that a run is the same wherever the simulated card lives.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "bench/trial/needs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace tidegate::trial {
namespace {

constexpr const char* kWorkflows = TIDEGATE_SOURCE_DIR "/examples/workflows/";

Needs needs_of_file(const std::string& name) {
  const auto workflow = cli::load_workflow(kWorkflows + name);
  EXPECT_TRUE(workflow) << workflow.error().message;
  return needs_of(workflow.value(), 1e13);
}

// GT-9: "ZImageTE 7,671 MB staged. Force pre-loaded 145 weights: 383 KB."
TEST(Needs, ModulesLoadedAtOnceAreThoseOfTheReport) {
  const Needs needs = needs_of_file("ltxav-zimage-lumina2.json");
  const Model& encoder = needs.models.at(1);
  std::size_t count = 0;
  Bytes bytes = 0;
  Bytes staged = 0;
  for (const Module& module : encoder.modules) {
    count += module.loaded_at_once ? 1 : 0;
    (module.loaded_at_once ? bytes : staged) += module.bytes;
  }
  EXPECT_EQ(count, 145u);
  EXPECT_EQ(bytes / kKiB, 401u);  // 383 KiB and the rounding of 36 x 2 norms of 256 bytes up to 512
  EXPECT_EQ(staged / kMiB, 7671u);
}

TEST(Needs, EveryUseIsInOneGroupAndBlocksAreTogether) {
  const Needs needs = needs_of_file("ltxav-zimage-lumina2.json");
  for (const Node& node : needs.nodes) {
    std::size_t next = 0;
    std::size_t blocks = 0;
    for (const Group& group : node.groups) {
      EXPECT_EQ(group.first, next);
      next += group.count;
      blocks += group.scope.empty() ? 0 : 1;
    }
    EXPECT_EQ(next, node.uses.size());
    // 48 blocks of LTXAV; 30 layers and 2 + 2 refiners of Lumina2; a text encoder is not prefetched.
    EXPECT_EQ(blocks, node.model == 0 ? 48u : node.model == 2 ? 34u : 0u) << node.label;
  }
}

struct Outcome {
  std::string said;
  std::string hazards;
};

Outcome run(const std::string& before, const std::string& after, const test::TempFolder& folder) {
  const std::string file = folder.path("hazards");
  const test::CommandOutcome outcome =
      test::run_command("timeout -s KILL 200 " + before + " --seed 7 --hazards " + file + " " + after + " --workflow " +
                        kWorkflows + "tiny.json 2>&1");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  return {outcome.out, test::read_file(file)};
}

// I10.
TEST(AimdoHost, TheSameRunBehindTheBrokerAndInItsOwnProcess) {
  const test::TempFolder folder;
  const std::string exec = TIDEGATE_PROGRAM " sim exec --card rtx3050-6g-wddm --tags";
  const std::string host = std::string(" -- ") + TIDEGATE_AIMDO_HOST + " static";
  const Outcome broker = run(exec, host, folder);
  const Outcome own = run(exec + " --in-process", host, folder);
  EXPECT_NE(broker.said.find("\"card_seconds\":"), std::string::npos);
  EXPECT_NE(broker.hazards.find("\"launch_kernel\": "), std::string::npos);
  EXPECT_EQ(own.said, broker.said);
  EXPECT_EQ(own.hazards, broker.hazards);
}

TEST(AimdoHost, SaysWhatALibraryLacks) {
  const test::CommandOutcome outcome =
      test::run_command("timeout -s KILL 60 " TIDEGATE_PROGRAM " sim exec --in-process --card rtx3050-6g-wddm -- " +
                        std::string(TIDEGATE_AIMDO_HOST) + " libm.so.6 --workflow " + kWorkflows + "tiny.json 2>&1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("libm.so.6: exports no "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace tidegate::trial
