#include "cli/sim_rules_command.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/profile.h"

namespace tidegate::cli {

CLI::App* add_sim_rules_command(CLI::App& sim, SimRulesArguments& arguments) {
  CLI::App* rules = sim.add_subcommand("rules", "Lists the rules that a simulated card keeps, each with a switch.");
  rules->add_option("--card", arguments.card, "Says which are on for that card: a profile's name or file");
  rules->add_option("--set", arguments.changes, "group.key=value on top of the card's profile")->needs("--card");
  rules->footer(
      "A profile switches a rule off by \"rules\": {\"W-31\": false}, a command line by --set rules.W-31=false.\n"
      "W-n hold for Windows only, C-n and A.4 for any card; each is described in the project's specification.");
  return rules;
}

int sim_rules_command(const SimRulesArguments& arguments) {
  sim::Rules rules;
  if (!arguments.card.empty()) {
    const Result<sim::Profile> profile = sim::load_profile(arguments.card, arguments.changes);
    if (!profile) {
      std::fprintf(stderr, "tidegate: %s\n", profile.error().message.c_str());
      return 2;
    }
    rules = profile->rules;
  }
  for (const sim::Rule& rule : sim::all_rules()) {
    const std::string line =
        fmt::format("{:5} {:3} {}; off: {}\n", rule.name, rules.on(rule.id) ? "on" : "off", rule.holds, rule.without);
    std::fputs(line.c_str(), stdout);
  }
  return 0;
}

}  // namespace tidegate::cli
