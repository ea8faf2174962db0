// `tidegate sim exec`: runs programs of the driver API on a simulated card that they share.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace tidegate::cli {

// The command line's words, as typed.
struct SimExecArguments {
  std::string card;
  std::vector<std::string> changes;  // to the card's profile: group.key=value
  std::string seed = "1";
  std::string hazards;
  std::string trace;
  bool real_time = false;
  bool stats = false;
  std::string foreign;      // a size that another program holds all the time; empty: none
  bool tags = false;        // copies carry content tags
  bool in_process = false;  // a world in each process rather than one behind a broker
  std::vector<std::string> command;
};

// `arguments` must outlive the parsing. Answers the subcommand `exec` of a new subcommand `sim`.
CLI::App* add_sim_exec_command(CLI::App& app, SimExecArguments& arguments);

// Runs the command and answers its exit status: 127 where there is no such program, 126 where it cannot be started, 2
// for bad usage, 1 where what was asked for could not be written.
int sim_exec_command(const SimExecArguments& arguments);

}  // namespace tidegate::cli
