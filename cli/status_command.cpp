#include <algorithm>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/card_commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/quantities.h"
#include "src/base/thread_executor.h"
#include "src/driver/cuda_driver.h"
#include "src/share/card_sensors.h"
#include "src/share/ledger.h"
#include "src/share/truth.h"

namespace tidegate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Look {
  share::Decision decision;
  Result<share::LedgerView> ledger = share::LedgerView{};
  Result<std::vector<share::CardProcess>> processes = std::vector<share::CardProcess>{};
  std::uint64_t changes = 0;
};

// One card, looked at without a context.
class Watcher {
 public:
  Result<void> open(int ordinal) {
    auto loaded = driver::load_cuda_driver();
    if (!loaded) return loaded.error();
    driver_ = std::move(loaded).value();
    auto card = share::open_card_sensors(*driver_, ordinal);
    if (!card) return card.error();
    card_ = std::move(card).value();
    share::TruthOptions options;
    options.prior = card_.prior;
    options.card_total = card_.total;
    truth_ = std::make_unique<share::Truth>(std::move(card_.sensors), std::move(options));
    return {};
  }
  Result<Look> look(base::Nanos now) {
    auto ledger = seats();
    share::Books books;
    if (ledger) {
      for (const share::SeatView& seat : ledger.value().seats) books.others += seat.state.touched();
    }
    auto decision = truth_->look(books, now);
    if (!decision) return decision.error();
    return Look{std::move(decision).value(), std::move(ledger), share::processes_on(card_), truth_->generation()};
  }
  const share::CardSensors& card() const { return card_; }

 private:
  // Opened until it is there: without it the seats are foreign to us, which is said.
  Result<share::LedgerView> seats() {
    if (ledger_ == nullptr) {
      auto opened = share::Ledger::open(share::uuid_text(card_.uuid), card_.total);
      if (!opened) return opened.error();
      ledger_ = std::move(opened).value();
    }
    return ledger_->look();
  }

  std::shared_ptr<share::Ledger> ledger_;
  std::unique_ptr<driver::Driver> driver_;
  share::CardSensors card_;
  std::unique_ptr<share::Truth> truth_;  // goes before what its sensors read
};

Json json_of(const share::SeatView& seat) {
  Json json = {{"row", seat.row}, {"pid", seat.process.pid}, {"name", seat.name}, {"priority", seat.state.priority}};
  for (std::size_t i = 0; i < seat.state.terms.size(); ++i) {
    json["terms"][share::name_of(static_cast<share::Term>(i))] = seat.state.terms[i];
  }
  json["held_bytes"] = seat.state.held();
  json["floor_bytes"] = seat.state.floor;
  json["reclaimable_bytes"] = seat.state.reclaimable;
  json["wants_bytes"] = seat.state.wants;
  return json;
}

std::string json_of(const share::CardSensors& card, const Look& look) {
  const share::Decision& decision = look.decision;
  Json json;
  json["card"] = {{"name", card.name}, {"uuid", share::uuid_text(card.uuid)}, {"total_bytes", card.total}};
  json["free_bytes"] = decision.free.bytes;
  json["prevailed"] = decision.prevailed;
  json["below_next_bytes"] = decision.below_next ? Json(*decision.below_next) : Json();
  json["blind_free_bytes"] = decision.blind ? Json(decision.blind->bytes) : Json();
  json["bias_bytes"] = decision.bias ? Json(*decision.bias) : Json();
  json["decision"] = decision.line;
  json["changes"] = look.changes;
  json["sensors"] = Json::array();
  for (const share::SensorState& state : decision.sensors) {
    json["sensors"].push_back({{"name", state.name},
                               {"standing", share::name_of(state.standing)},
                               {"scope", tidegate::name_of(state.scope)},
                               {"evidence", state.evidence},
                               {"free_bytes", state.reading ? Json(state.reading->free) : Json()}});
  }
  json["foreign_bytes"] = decision.foreign;
  json["seats"] = Json::array();
  if (look.ledger) {
    for (const share::SeatView& seat : look.ledger.value().seats) json["seats"].push_back(json_of(seat));
  } else {
    json["no_ledger"] = look.ledger.error().message;
  }
  json["processes"] = Json::array();
  if (look.processes) {
    for (const share::CardProcess& process : look.processes.value()) {
      json["processes"].push_back({{"pid", process.pid}, {"bytes", process.bytes ? Json(*process.bytes) : Json()}});
    }
  }
  return json.dump() + "\n";
}

std::string table_of(const share::CardSensors& card, const Look& look) {
  const share::Decision& decision = look.decision;
  std::string text = fmt::format("{} ({}), {} for programs\n{}\n", card.name, share::uuid_text(card.uuid),
                                 format_size(card.total), decision.line);
  text += fmt::format("\n{:<13} {:<9} {:<8} {:>9}  {}\n", "sensor", "standing", "scope", "free MiB", "evidence");
  for (const share::SensorState& state : decision.sensors) {
    text += fmt::format("{:<13} {:<9} {:<8} {:>9}  {}\n", state.name, share::name_of(state.standing),
                        tidegate::name_of(state.scope),
                        state.reading ? std::to_string(state.reading->free / kMiB) : "-", state.evidence);
  }
  if (!look.ledger) {
    text += "\nno common ledger, so that processes are foreign to each other: " + look.ledger.error().message + "\n";
  } else {
    text += fmt::format("\n{:>10} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", "seat's pid", "held MiB", "promised",
                        "reclaim.", "floor", "wants", "name");
    for (const share::SeatView& seat : look.ledger.value().seats) {
      text += fmt::format("{:>10} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", seat.process.pid, seat.state.held() / kMiB,
                          seat.state[share::Term::kPromised] / kMiB, seat.state.reclaimable / kMiB,
                          seat.state.floor / kMiB, seat.state.wants / kMiB, seat.name);
    }
    text += fmt::format("foreign: {} MiB that no seat explains\n", decision.foreign / kMiB);
  }
  if (!look.processes) return text + "\nprocesses: " + look.processes.error().message + "\n";
  text += fmt::format("\n{:>10} {:>9}\n", "process", "MiB");
  for (const share::CardProcess& process : look.processes.value()) {
    text +=
        fmt::format("{:>10} {:>9}\n", process.pid, process.bytes ? std::to_string(*process.bytes / kMiB) : "not told");
  }
  return text;
}

}  // namespace

CLI::App* add_status_command(CLI::App& app, StatusArguments& arguments) {
  CLI::App* status = app.add_subcommand(
      "status", "Says what is free on a card, which sensor is believed and why, and who holds what. Makes no context.");
  status->add_option("--card", arguments.card, "The driver's number of the card")->capture_default_str();
  status->add_flag("--watch", arguments.watch, "Again and again, until interrupted");
  status->add_option("--every", arguments.every, "Seconds between two looks")
      ->check(CLI::Range(0.02, 3600.0))
      ->capture_default_str();
  status->add_flag("--json", arguments.json, "Prints JSON, one line for each look");
  status->footer("Exits with 0, 2 where there is no card or nothing tells of it, 128 + the signal that ended --watch.");
  return status;
}

int status_command(const StatusArguments& arguments) {
  Watcher watcher;
  if (auto opened = watcher.open(arguments.card); !opened) return say_error(opened.error());
  base::ThreadExecutor wall;
  if (arguments.watch) catch_interrupts();
  for (;;) {
    const auto look = watcher.look(wall.now());
    if (!look) return say_error(look.error());
    std::fputs(
        (arguments.json ? json_of(watcher.card(), look.value()) : table_of(watcher.card(), look.value())).c_str(),
        stdout);
    if (!arguments.json && arguments.watch) std::fputs("\n", stdout);
    std::fflush(stdout);
    if (!arguments.watch) return 0;
    base::Mutex mutex;
    base::WaitPoint nobody;
    const base::Lock lock(mutex);
    const base::Nanos until = wall.now() + static_cast<base::Nanos>(arguments.every * 1e9);
    while (interrupted() == 0 && wall.now() < until) {
      (void)wall.wait(mutex, nobody, std::min(until, wall.now() + 50 * base::kMillisecond));
    }
    if (interrupted() != 0) return kSignalled + interrupted();
  }
}

}  // namespace tidegate::cli
