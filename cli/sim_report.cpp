#include "cli/sim_report.h"

#include <fmt/format.h>

namespace tidegate::cli {

std::string stats_table(const std::vector<SimProcess>& processes, base::Nanos card_time) {
  std::string text = fmt::format("simulated card: {:.6f} s of its time (modelled); per process, counted:\n",
                                 static_cast<double>(card_time) / 1e9);
  text += fmt::format("{:>4} {:>8} {:<16} {:>10} {:>8} {:>10} {:>10} {:>10}\n", "no.", "pid", "program", "calls",
                      "failed", "MiB to it", "MiB back", "peak MiB");
  for (const SimProcess& process : processes) {
    text += fmt::format("{:>4} {:>8} {:<16} {:>10} {:>8} {:>10} {:>10} {:>10}\n", process.id, process.pid, process.name,
                        process.stats.total_calls, process.stats.failed_calls, process.stats.copied_h2d / kMiB,
                        process.stats.copied_d2h / kMiB, process.stats.peak_committed / kMiB);
  }
  return text;
}

}  // namespace tidegate::cli
