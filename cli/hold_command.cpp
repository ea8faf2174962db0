#include <algorithm>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/card_commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/quantities.h"
#include "cli/raw_card.h"
#include "src/base/system_info.h"
#include "src/base/thread_executor.h"
#include "src/share/card_sensors.h"
#include "src/share/ledger.h"
#include "src/share/truth.h"

namespace tidegate::cli {
namespace {

constexpr Bytes kPart = kGiB;  // progress is said after each

// Parks until a signal comes.
void wait_for_signal() {
  constexpr base::Nanos kLook = 50 * base::kMillisecond;
  base::ThreadExecutor wall;
  base::Mutex mutex;
  base::WaitPoint nobody;
  const base::Lock lock(mutex);
  while (interrupted() == 0) (void)wall.wait(mutex, nobody, wall.now() + kLook);
}

// A seat to which `size` is promised. What others were promised, and what they hold and the card does not count yet, is
// theirs. No recall is asked for: a hold that does not fit now is refused.
Result<std::unique_ptr<share::Seat>> take_seat(RawCard& card, int ordinal, Bytes size) {
  auto sensors = share::open_card_sensors(card.driver(), ordinal);
  if (!sensors) return sensors.error();
  share::CardSensors& known = sensors.value();
  auto ledger = share::Ledger::open(share::uuid_text(known.uuid), known.total);
  if (!ledger) return ledger.error();
  auto seat = ledger.value()->take_seat("hold");
  if (!seat) return seat.error();
  share::TruthOptions options;
  options.prior = known.prior;
  options.card_total = known.total;
  share::Truth truth(std::move(known.sensors), std::move(options));
  auto decision = truth.look({}, 0);
  if (!decision) return decision.error();
  const Bytes free = decision.value().free.bytes;
  const auto fits = [&](const share::LedgerView& view) {
    Bytes spoken_for = 0;
    for (const share::SeatView& other : view.seats) {
      spoken_for += other.state[share::Term::kPromised] + other.state[share::Term::kUntouched];
    }
    return spoken_for <= free;
  };
  auto granted = seat.value()->ask(share::Term::kPromised, size, fits);
  if (!granted) return granted.error();
  if (!granted.value()) {
    return Error{Errc::kOutOfMemory,
                 format_size(size) + " do not fit beside what others were promised: " + decision.value().line};
  }
  return seat;
}

}  // namespace

CLI::App* add_hold_command(CLI::App& app, HoldArguments& arguments) {
  CLI::App* hold = app.add_subcommand("hold", "Takes memory of the card and keeps it until interrupted; for tests.");
  hold->add_option("size", arguments.size, "How much, as 4GiB")->required();
  hold->add_option("--card", arguments.card, "The driver's number of the card")->capture_default_str();
  hold->add_flag("--foreign", arguments.foreign, "As a program that knows nothing of Tidegate: asks nobody");
  hold->add_flag("--vmm", arguments.vmm, "By cuMemCreate and mappings instead of cuMemAlloc");
  hold->add_flag("--untouched", arguments.untouched, "Does not write what it takes: under Windows it is not resident");
  hold->footer(
      "Prints a line once it holds all of it. Exits with 128 + the signal that ended it (130, 143), 1 where the card\n"
      "has not so much or others were promised it, 2 for bad usage or where there is no card.");
  return hold;
}

int hold_command(const HoldArguments& arguments) {
  const auto size = parse_size(arguments.size);
  if (!size) return say_error({Errc::kInvalidArgument, arguments.size + ": " + size.error().message});
  catch_interrupts();
  RawCard card;
  if (auto loaded = card.load(arguments.card); !loaded) return say_error(loaded.error());
  std::unique_ptr<share::Seat> seat;
  if (!arguments.foreign) {
    auto taken = take_seat(card, arguments.card, size.value());
    if (!taken) return say_error(taken.error());
    seat = std::move(taken).value();
  }
  if (auto entered = card.enter(); !entered) return say_error(entered.error());
  for (Bytes held = 0; held < size.value() && interrupted() == 0;) {
    const Bytes part = std::min(kPart, size.value() - held);
    if (auto taken = card.take(part, arguments.vmm ? Way::kVmm : Way::kAlloc); !taken) {
      Error error = taken.error();
      error.message = "after " + (held == 0 ? "nothing" : format_size(held)) + ": " + error.message;
      return say_error(error);
    }
    held += part;
    if (seat != nullptr) (void)seat->move(share::Term::kPromised, share::Term::kUntouched, part);
    std::fprintf(stderr, "tidegate: took %s of %s\n", format_size(held).c_str(), format_size(size.value()).c_str());
  }
  if (!arguments.untouched) {
    if (auto touched = card.touch(); !touched) return say_error(touched.error());
    if (seat != nullptr) (void)seat->move(share::Term::kUntouched, share::Term::kResident, size.value());
  }
  if (interrupted() == 0) {
    std::printf("holding %s as process %d until interrupted\n", format_size(size.value()).c_str(), base::process_id());
    std::fflush(stdout);
  }
  wait_for_signal();
  return kSignalled + interrupted();
}

}  // namespace tidegate::cli
