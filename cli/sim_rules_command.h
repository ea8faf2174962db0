// `tidegate sim rules`: the switches of the simulated card.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace tidegate::cli {

// The command line's words, as typed.
struct SimRulesArguments {
  std::string card;
  std::vector<std::string> changes;
};

// `arguments` must outlive the parsing. Answers the subcommand `rules` of `sim`.
CLI::App* add_sim_rules_command(CLI::App& sim, SimRulesArguments& arguments);

// Prints each rule, what holds with it and without, and whether it is on. Exit code: 0, or 2 for a card that cannot be
// had.
int sim_rules_command(const SimRulesArguments& arguments);

}  // namespace tidegate::cli
