// The commands that look at a card that the driver has: `tidegate probe`, `status` and `hold`.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace tidegate::cli {

// The command line's words, as typed; each must outlive the parsing. add_ answers the subcommand, the other runs it and
// answers an exit code (exit_code.h).
struct ProbeArguments {
  int card = 0;
  std::vector<std::string> holds;  // sizes; empty: 4GiB and 10GiB
  bool json = false;
  bool quiet = false;
  bool serve = false;  // be the helper
};
CLI::App* add_probe_command(CLI::App& app, ProbeArguments& arguments);
int probe_command(const ProbeArguments& arguments);

struct StatusArguments {
  int card = 0;
  bool watch = false;
  double every = 1;  // seconds
  bool json = false;
};
CLI::App* add_status_command(CLI::App& app, StatusArguments& arguments);
int status_command(const StatusArguments& arguments);

struct HoldArguments {
  int card = 0;
  std::string size;
  bool foreign = false;
  bool vmm = false;
  bool untouched = false;
};
CLI::App* add_hold_command(CLI::App& app, HoldArguments& arguments);
int hold_command(const HoldArguments& arguments);

}  // namespace tidegate::cli
