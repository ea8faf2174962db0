#include <CLI/CLI.hpp>

#include "cli/sim_exec.h"

namespace tidegate::cli {

CLI::App* add_sim_exec_command(CLI::App& app, SimExecArguments& arguments) {
  CLI::App* sim = app.add_subcommand("sim", "The simulated card for programs of the driver API.");
  sim->require_subcommand(1);
  CLI::App* exec = sim->add_subcommand(
      "exec", "Runs a command, and what it starts, with a simulated card in the driver's place; Linux.");
  exec->add_option("--card", arguments.card, "The card: a profile's name or file")->required();
  exec->add_option("--set", arguments.changes, "group.key=value on top of the card's profile, as rules.W-31=false");
  exec->add_option("--seed", arguments.seed, "Decides the order of what happens at the same time")
      ->capture_default_str();
  exec->add_option("--hazards", arguments.hazards, "Writes what went wrong unnoticed to this file, as JSON");
  exec->add_option("--trace", arguments.trace, "Writes every call and operation to this file, as text");
  exec->add_flag("--real-time", arguments.real_time, "The card takes as long as the real one; not repeatable");
  exec->add_option("--foreign", arguments.foreign, "What a desktop or another program holds of the card all the time");
  exec->add_flag("--tags", arguments.tags,
                 "Copies to the card of 4 KiB and more bring a tag in place of bytes: host memory is not read, what is "
                 "copied back is zeros, and worlds of any size cost little");
  exec->add_flag("--in-process", arguments.in_process,
                 "The card lives in the command's own process, for a program of one process that calls the driver from "
                 "one thread: the same run as without, a thousand times quicker; no --stats, --real-time");
  exec->add_flag("--stats", arguments.stats, "Prints what each process did to stderr");
  exec->add_option("command", arguments.command, "The command and its arguments, after --")->required();
  exec->footer("Exits with the command's status; 127 there is no such program, 126 it cannot be started, 2 bad usage.");
  return exec;
}

}  // namespace tidegate::cli
