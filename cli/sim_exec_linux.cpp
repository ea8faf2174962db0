#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "cli/quantities.h"
#include "cli/sim_exec.h"
#include "cli/sim_report.h"
#include "sim/hazards_json.h"
#include "sim/remote/broker.h"
#include "src/base/checksum.h"
#include "src/base/child_process.h"
#include "src/base/system_info.h"
#include "src/base/write_file.h"
#include "src/share/ledger.h"

namespace tidegate::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kCannotStart = 126;
constexpr int kNoSuchProgram = 127;

int complain(const std::string& why, int code) {
  std::fprintf(stderr, "tidegate: %s\n", why.c_str());
  return code;
}

std::optional<std::uint64_t> parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return seed;
}

// The folder with our libcuda.so.1: as built (bin beside lib) or as installed. Empty: there is none.
std::string front_folder() {
  std::error_code fault;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (fault) return {};
  const std::filesystem::path prefix = program.parent_path().parent_path();
  for (const char* name : {"lib/tidegate", "lib64/tidegate", "lib"}) {
    const std::filesystem::path folder = prefix / name;
    // Beside libtidegate_front.so only: a libcuda.so.1 alone is somebody else's.
    if (std::filesystem::exists(folder / "libcuda.so.1", fault) &&
        std::filesystem::exists(folder / "libtidegate_front.so", fault)) {
      return folder.string();
    }
  }
  return {};
}

std::map<std::string, std::string> environment(const std::string& socket_name) {
  std::map<std::string, std::string> changes = {{"TIDEGATE_BROKER", socket_name}};
  const std::string folder = front_folder();
  if (folder.empty()) {
    (void)complain("note: no libcuda.so.1 of Tidegate beside the program; the command finds another or none", 0);
    return changes;
  }
  const char* before = std::getenv("LD_LIBRARY_PATH");
  changes["LD_LIBRARY_PATH"] = before == nullptr || *before == '\0' ? folder : folder + ":" + before;
  return changes;
}

// A folder for this world's ledger, gone with it: the cards of two worlds with one seed have one UUID.
class LedgerFolder {
 public:
  LedgerFolder() {
    if (std::getenv(share::kLedgerFolderVariable) != nullptr) return;  // the user's choice
    std::error_code fault;
    std::string path = (std::filesystem::temp_directory_path(fault) / "tidegate-world-XXXXXX").string();
    if (!fault && ::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~LedgerFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  LedgerFolder(const LedgerFolder&) = delete;
  LedgerFolder& operator=(const LedgerFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // empty: the children keep what they have
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The command with a card of its own (docs/front.md), in this process's place. Answers where it cannot start.
int exec_in_process(const SimExecArguments& arguments) {
  if (arguments.real_time || arguments.stats) {
    return complain("--in-process goes without --stats and --real-time, which need the broker", kBadUsage);
  }
  std::map<std::string, std::string> changes = environment("");
  changes["TIDEGATE_CARD"] = arguments.card;
  changes["TIDEGATE_CARD_SET"] = joined(arguments.changes);
  changes["TIDEGATE_SIM_SEED"] = arguments.seed;
  changes["TIDEGATE_SIM_TIME"] = "virtual";
  changes["TIDEGATE_SIM_TAGS"] = arguments.tags ? "1" : "";
  changes["TIDEGATE_SIM_HAZARDS"] = arguments.hazards;
  changes["TIDEGATE_SIM_TRACE"] = arguments.trace;
  const Error error = base::become_program(arguments.command, changes);
  return complain(error.message, error.code == Errc::kNotFound ? kNoSuchProgram : kCannotStart);
}

// The command as a child: its end, and the signals that are for it.
class Command {
 public:
  Result<void> start(const std::vector<std::string>& words, const std::string& socket_name) {
    std::map<std::string, std::string> changes = environment(socket_name);
    if (!ledger_.path().empty()) changes[share::kLedgerFolderVariable] = ledger_.path();
    auto spawned = base::spawn_program(words, changes);
    if (!spawned) return spawned.error();
    pid_ = spawned.value();
    return {};
  }
  int file() const { return signals_.file().get(); }
  std::optional<int> status() const { return status_; }

  // True: a child has ended.
  bool look() {
    bool news = false;
    while (const auto signal = signals_.next()) {
      if (!signal->from_terminal && pid_ > 0 && !status_) base::send_signal(pid_, signal->number);
    }
    while (const auto ended = base::next_ended()) {
      if (ended->pid == pid_) status_ = ended->status;
      news = true;
    }
    return news;
  }

 private:
  base::SignalFile signals_;
  LedgerFolder ledger_;
  int pid_ = 0;
  std::optional<int> status_;
};

Result<void> write_results(const SimExecArguments& arguments, const sim::Machine& machine,
                           const sim::remote::Broker& broker) {
  if (!arguments.hazards.empty()) {
    auto written = base::write_file(arguments.hazards, sim::hazards_json(machine.hazards(), broker.totals()));
    if (!written) return written;
  }
  if (!arguments.trace.empty()) return base::write_file(arguments.trace, machine.trace());
  return {};
}

}  // namespace

int sim_exec_command(const SimExecArguments& arguments) {
  const auto seed = parse_seed(arguments.seed);
  if (!seed) return complain("--seed " + arguments.seed + ": not a number", kBadUsage);
  Result<sim::Profile> profile = sim::load_profile(arguments.card, arguments.changes);
  if (!profile) {
    const std::string option =
        profile.error().code == Errc::kInvalidArgument ? "--set " : "--card " + arguments.card + ": ";
    return complain(option + profile.error().message, kBadUsage);
  }
  for (const std::string& path : {arguments.hazards, arguments.trace}) {
    if (path.empty()) continue;
    if (auto fine = base::can_write_file(path); !fine) return complain(fine.error().message, kBadUsage);
  }
  if (arguments.in_process) return exec_in_process(arguments);

  Command command;
  base::VirtualExecutor executor(base::VirtualOptions{.seed = *seed, .pace = arguments.real_time ? 1.0 : 0.0});
  sim::MachineOptions machine_options;
  machine_options.trace = !arguments.trace.empty();
  if (arguments.tags) machine_options.tags_from = sim::kTaggedCopies;
  machine_options.on_message = [](const std::string& line) { (void)complain(line, 0); };
  sim::Machine machine(executor, *seed, machine_options);
  machine.add_card(profile.value());
  if (!arguments.foreign.empty()) {
    const auto size = parse_size(arguments.foreign);
    if (!size) return complain("--foreign " + arguments.foreign + ": " + size.error().message, kBadUsage);
    if (!machine.start_process("foreign").hold(0, size.value())) {
      return complain("--foreign " + arguments.foreign + ": the card has not so much", kBadUsage);
    }
  }

  sim::remote::BrokerOptions options;
  options.follow_descendants = !arguments.real_time;
  options.files = {command.file()};
  options.on_readable = [&command] { return command.look(); };
  const std::string socket_name = "@tidegate-" + std::to_string(base::process_id());
  auto broker = sim::remote::Broker::listen(executor, machine, socket_name, std::move(options));
  if (!broker) return complain(broker.error().message, kFailed);

  if (auto started = command.start(arguments.command, socket_name); !started) {
    const bool absent = started.error().code == Errc::kNotFound;
    return complain(started.error().message, absent ? kNoSuchProgram : kCannotStart);
  }
  broker.value()->run([&](std::size_t clients) { return command.status() && clients == 0; });

  if (arguments.stats) {
    std::vector<SimProcess> processes;
    for (const auto& client : broker.value()->reports()) {
      processes.push_back({client.id, client.pid, client.name, client.stats});
    }
    std::fputs(stats_table(processes, executor.now()).c_str(), stderr);
  }
  const int status = command.status().value_or(kFailed);
  if (auto written = write_results(arguments, machine, *broker.value()); !written) {
    return complain(written.error().message, status == 0 ? kFailed : status);
  }
  return status;
}

}  // namespace tidegate::cli
