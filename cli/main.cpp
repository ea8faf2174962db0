// The program: parses the command line, runs one command, turns its outcome into an exit code.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/card_commands.h"
#include "cli/inspect_command.h"
#include "cli/load_command.h"
#include "cli/run_command.h"
#include "cli/sim_exec.h"
#include "cli/sim_rules_command.h"
#include "tidegate_build.h"

namespace {

constexpr int kBadUsage = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tidegate: AI models larger than the GPU's memory, paged from host memory.", "tidegate");
  app.set_version_flag("--version", std::string("tidegate ") + TIDEGATE_VERSION + " (" + TIDEGATE_GIT_DESCRIBE + ")");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 all is well; 1 wrong contents, a hazard, or a run that failed; 2 bad usage or bad input;\n"
      "128 + the signal's number where one stopped it. sim exec: the command's own.");

  tidegate::cli::RunArguments run;
  CLI::App* run_app = tidegate::cli::add_run_command(app, run);
  tidegate::cli::InspectArguments inspect;
  CLI::App* inspect_app = tidegate::cli::add_inspect_command(app, inspect);
  tidegate::cli::LoadArguments load;
  CLI::App* load_app = tidegate::cli::add_load_command(app, load);
  tidegate::cli::SimExecArguments sim_exec;
  CLI::App* sim_exec_app = tidegate::cli::add_sim_exec_command(app, sim_exec);

  tidegate::cli::SimRulesArguments sim_rules;
  CLI::App* sim_rules_app = tidegate::cli::add_sim_rules_command(*sim_exec_app->get_parent(), sim_rules);
  tidegate::cli::ProbeArguments probe;
  CLI::App* probe_app = tidegate::cli::add_probe_command(app, probe);
  tidegate::cli::StatusArguments status;
  CLI::App* status_app = tidegate::cli::add_status_command(app, status);
  tidegate::cli::HoldArguments hold;
  CLI::App* hold_app = tidegate::cli::add_hold_command(app, hold);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& fault) {
    if (app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') {
      std::fprintf(stderr, "tidegate: there is no command '%s' (tidegate --help)\n", argv[1]);
      return kBadUsage;
    }
    std::fprintf(stderr, "tidegate: %s (tidegate --help, tidegate run --help)\n", fault.what());
    return kBadUsage;
  }
  if (run_app->parsed()) return tidegate::cli::run_command(run);
  if (inspect_app->parsed()) return tidegate::cli::inspect_command(inspect);
  if (load_app->parsed()) return tidegate::cli::load_command(load);
  if (probe_app->parsed()) return tidegate::cli::probe_command(probe);
  if (status_app->parsed()) return tidegate::cli::status_command(status);
  if (hold_app->parsed()) return tidegate::cli::hold_command(hold);
  if (sim_exec_app->parsed()) return tidegate::cli::sim_exec_command(sim_exec);
  if (sim_rules_app->parsed()) return tidegate::cli::sim_rules_command(sim_rules);
  return kBadUsage;
}
