// aimdo_host: runs a workflow's trace of needs through a memory manager, in ComfyUI's order of calls, on whatever card
// libcuda.so.1 (nvcuda.dll) names: under `tidegate sim exec` a simulated one. Prints what the manager answered as JSON;
// the card counts the calls. tools/aimdo_trial.sh runs all contestants; docs/aimdo-on-trial.md has the findings.
#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/trial/card_clock.h"
#include "bench/trial/contestant.h"
#include "sim/hazards_json.h"
#include "sim/open_card.h"
#include "src/base/write_file.h"

namespace tidegate::trial {
namespace {

// 512 FLOPs a clock of each of 18 multiprocessors at 1.5 GHz, as `tidegate run` assumes for this card.
constexpr double kTeraFlops = 13.8;
// ComfyUI page-locks up to 0.40 of RAM on Windows; the machine of GT-9 has 64 GiB.
constexpr Bytes kPinBudget = Bytes{64} * kGiB * 4 / 10;

struct Arguments {
  std::string workflow;
  std::string contestant;
  double tera_flops = kTeraFlops;
  std::uint32_t passes = 0;
  bool no_graph = false;
  bool log = false;
  bool wall_clock = false;
  std::string simulate;
  std::uint64_t seed = 1;
  std::string hazards;
};

bool run_pass(const Node& node, Contestant& contestant, Gpu& gpu, const Model& model, Temporaries& temporaries) {
  for (const Group& group : node.groups) {
    // None crosses the border of a block: what the peer's recorder does with those is no part of this trial.
    if (!group.scope.empty()) temporaries.clear();
    if (!contestant.begin_group(node, group)) return false;
    for (std::size_t i = group.first; i < group.first + group.count; ++i) {
      const Use& use = node.uses[i];
      const driver::DevicePtr at = contestant.begin_use(node, use);
      if (at == 0) return false;
      const driver::DevicePtr cast = use.cast == 0 ? 0 : gpu.allocate(use.cast, gpu.compute());
      temporaries.add(use.output);
      gpu.work(at, model.modules[use.module].bytes, use.work_ns);
      gpu.free(cast, gpu.compute());
      contestant.end_use(node, use);
    }
    if (!group.scope.empty()) temporaries.clear();
    contestant.end_group(node, group);
  }
  return true;
}

// False: the contestant failed, and the node ended early.
bool run_node(const Node& node, Contestant& contestant, Gpu& gpu, const Model& model) {
  bool whole = true;
  contestant.load(node);
  for (std::uint32_t pass = 0; pass < node.passes && whole; ++pass) {
    Temporaries temporaries(gpu);
    contestant.begin_pass(node);
    whole = run_pass(node, contestant, gpu, model, temporaries);
    temporaries.clear();
    if (whole) contestant.end_pass(node);
    gpu.synchronize_compute();  // a sampler looks at each step's result
  }
  contestant.end_node(node);
  return whole;
}

std::unique_ptr<Contestant> make(const Arguments& arguments, const Setting& setting) {
  if (arguments.contestant == "static") return make_static(setting);
  if (arguments.contestant == "tidegate") return make_tidegate(setting);
  return make_aimdo(setting, arguments.contestant, !arguments.no_graph, arguments.log);
}

nlohmann::ordered_json run_workflow(const Arguments& arguments, const Needs& needs, Gpu& gpu) {
  Pins pins(gpu, needs, kPinBudget);
  auto contestant = make(arguments, {needs, gpu, pins});
  std::uint64_t broken = 0;
  for (const Node& node : needs.nodes) {
    broken += run_node(node, *contestant, gpu, needs.models[node.model]) ? 0 : 1;
    if (node.samples) gpu.empty_cache();  // the end of a prompt
  }
  const Tally tally = contestant->tally();
  return {{"contestant", arguments.contestant},
          {"nodes", needs.nodes.size()},
          {"nodes_that_failed", broken},
          {"modules_asked_for", tally.asked},
          {"modules_present", tally.present},
          {"modules_streamed", tally.streamed},
          {"failures", tally.failures},
          {"temporaries_out_of_memory", gpu.out_of_memory()},
          {"registrations_refused", pins.refused()},
          {"log_lines", tally.said}};
}

// The card that the driver's library names.
nlohmann::ordered_json run_on_driver(const Arguments& arguments, const Needs& needs) {
  auto card = open_cuda_card(0);
  if (!card) fail("the card", card.error().message.c_str());
  Gpu gpu(std::move(card).value());
  keep_wall_clock = arguments.wall_clock;
  set_card_clock();
  auto said = run_workflow(arguments, needs, gpu);
  said["card_seconds"] = card_seconds();
  return said;
}

// A card of this program's own: several threads of a contestant are activities of one repeatable world.
nlohmann::ordered_json run_on_simulated(const Arguments& arguments, const Needs& needs) {
  sim::SimCardOptions options{.seed = arguments.seed, .pace = 0, .machine = {}};
  options.machine.tags_from = sim::kTaggedCopies;
  auto opened = sim::SimCard::open(arguments.simulate, options);
  if (!opened) fail("--simulate", opened.error().message.c_str());
  sim::SimCard& card = *opened.value();
  auto gpu = std::make_unique<Gpu>(std::move(opened).value());
  auto said = run_workflow(arguments, needs, *gpu);
  said["card_seconds"] = static_cast<double>(card.virtual_executor().now()) / 1e9;
  card.machine().kill(card.process());
  if (!arguments.hazards.empty()) {
    const std::string found = sim::hazards_json(card.machine().hazards(), card.process().stats());
    if (auto written = base::write_file(arguments.hazards, found); !written) {
      fail("--hazards", written.error().message.c_str());
    }
  }
  return said;
}

int run(const Arguments& arguments) {
  auto workflow = cli::load_workflow(arguments.workflow);
  if (!workflow) fail("--workflow", workflow.error().message.c_str());
  const Needs needs = needs_of(workflow.value(), arguments.tera_flops * 1e12, arguments.passes);
  const auto said = arguments.simulate.empty() ? run_on_driver(arguments, needs) : run_on_simulated(arguments, needs);
  std::printf("%s\n", said.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace tidegate::trial

int main(int argc, char** argv) {
  tidegate::trial::Arguments arguments;
  CLI::App app("Runs a workflow's trace of needs through a memory manager in ComfyUI's order of calls.", "aimdo_host");
  app.add_option("contestant", arguments.contestant, "static, tidegate, or the native library of comfy-aimdo")
      ->required();
  app.add_option("--workflow", arguments.workflow, "The workflow file")->required();
  app.add_option("--passes", arguments.passes, "At most so many passes of each step; 0: all");
  app.add_option("--tflops", arguments.tera_flops, "The card's rate for the workflow's FLOPs")->capture_default_str();
  app.add_flag("--no-graph", arguments.no_graph, "As ComfyUI's --disable-comfy-compiler");
  app.add_flag("--wall-clock", arguments.wall_clock,
               "The library reads the clock of the wall, not the simulated card's: its readings of the card are stale");
  app.add_flag("--log", arguments.log, "The library's log on stderr");
  app.add_option("--simulate", arguments.simulate,
                 "A simulated card (a profile's name) of this program's own; for contestants that are no library");
  app.add_option("--seed", arguments.seed, "With --simulate: decides the order of what happens at the same time");
  app.add_option("--hazards", arguments.hazards, "With --simulate: as of `tidegate sim exec`");
  app.footer("Exits with 0, whatever the contestant answered; 1 where the trial itself could not go on.");
  CLI11_PARSE(app, argc, argv);
  return tidegate::trial::run(arguments);
}
