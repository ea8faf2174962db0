// `tidegate run`.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "tidegate/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace tidegate::cli {

// The command line's words, as typed; empty where not given.
struct RunArguments {
  std::string input;
  std::string card;
  std::string vram;
  std::string mode;
  std::string policy = "scatter";
  std::string read = "direct";
  std::string ring = "256MiB";
  std::string seed = "1";
  std::string scale = "1";
  std::string bytes;
  std::string compute_ratio;
  std::string tflops;
  std::string host_memory;
  std::string passes;
  std::uint32_t budget_swings = 0;
  std::vector<std::string> without;
  std::string report;
  bool real_time = false;
  bool quiet = false;
};

// `arguments` must outlive the parsing.
CLI::App* add_run_command(CLI::App& app, RunArguments& arguments);

// Errors: kInvalidArgument, one line naming the option.
Result<RunOptions> parse_options(const RunArguments& arguments);

// Runs, prints and answers the process's exit code.
int run_command(const RunArguments& arguments);

}  // namespace tidegate::cli
