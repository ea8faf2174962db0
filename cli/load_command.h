// `tidegate load`: a model file to the card through a bounded ring, measured beside its two legs.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace tidegate::cli {

struct LoadArguments {
  std::string input;
  std::string card;
  std::string ring = "256MiB";
  unsigned readers = 8;
  unsigned rounds = 3;
  bool direct = false;
  bool cold = false;
  bool check = false;
  bool json = false;
};

// `arguments` must outlive the parsing.
CLI::App* add_load_command(CLI::App& app, LoadArguments& arguments);

// Prints and answers the process's exit code.
int load_command(const LoadArguments& arguments);

}  // namespace tidegate::cli
