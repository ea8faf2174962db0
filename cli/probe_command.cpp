#include <cstdio>

#include <CLI/CLI.hpp>

#include "cli/card_commands.h"
#include "cli/exit_code.h"
#include "cli/probe.h"
#include "cli/progress.h"
#include "cli/quantities.h"

namespace tidegate::cli {

CLI::App* add_probe_command(CLI::App& app, ProbeArguments& arguments) {
  CLI::App* probe = app.add_subcommand(
      "probe",
      "Measures what this machine's readings of free memory mean. It creates a context, starts a second process that\n"
      "takes memory of the card, at most half of what is free, and gives the card work: other programs may notice.");
  probe->add_option("--card", arguments.card, "The driver's number of the card")->capture_default_str();
  probe->add_option("--hold", arguments.holds,
                    "What the second process takes, in rising order: by default 4GiB and 10GiB, or half of the free\n"
                    "reading where that is less (a simulated card is not spared)");
  probe->add_flag("--json", arguments.json, "Prints JSON");
  probe->add_flag("--quiet", arguments.quiet, "No progress on stderr");
  probe->add_flag("--serve", arguments.serve)->group("");
  probe->footer("Exits with 0, 1 where a step failed, 2 for bad usage or where there is no card.");
  return probe;
}

int probe_command(const ProbeArguments& arguments) {
  if (arguments.serve) return serve_probe(arguments.card);
  std::vector<Bytes> sizes;
  for (const std::string& text : arguments.holds) {
    const auto size = parse_size(text);
    if (!size) return say_error({Errc::kInvalidArgument, "--hold " + text + ": " + size.error().message});
    if (!sizes.empty() && size.value() <= sizes.back()) {
      return say_error({Errc::kInvalidArgument, "--hold: sizes must rise"});
    }
    sizes.push_back(size.value());
  }
  if (sizes.empty()) sizes = {4 * kGiB, 10 * kGiB};
  Progress progress(arguments.quiet);
  const auto record = run_probe(arguments.card, sizes, [&](const std::string& line) { progress.show(line); });
  progress.clear();
  if (!record) return say_error(record.error());
  std::fputs((arguments.json ? probe_json(record.value()) : probe_table(record.value())).c_str(), stdout);
  return 0;
}

}  // namespace tidegate::cli
