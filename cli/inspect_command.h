// `tidegate inspect`: what a model file holds and what it would need on this card.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace tidegate::cli {

struct InspectArguments {
  std::string input;
  std::string card;
  std::vector<std::string> budgets;
  bool json = false;
  bool tensors = false;
};

// `arguments` must outlive the parsing.
CLI::App* add_inspect_command(CLI::App& app, InspectArguments& arguments);

// Prints and answers the process's exit code.
int inspect_command(const InspectArguments& arguments);

}  // namespace tidegate::cli
