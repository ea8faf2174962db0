// What the books cost: a charge with its discharge, a look at all seats, an ask that is granted. On a real file.
#include <cstdlib>

#include <benchmark/benchmark.h>

#include "src/share/ledger.h"

namespace tidegate::share {
namespace {

Seat& seat_at(std::shared_ptr<Ledger>& ledger) {
  static std::shared_ptr<Ledger> opened;
  static std::unique_ptr<Seat> seat;
  if (!seat) {
    auto made = Ledger::open("GPU-bench", 16 * kGiB);  // beside real cards' ledgers: no card has this UUID
    if (!made || !(opened = made.value()) || !(seat = std::move(opened->take_seat("bench").value()))) std::abort();
  }
  ledger = opened;
  return *seat;
}

void charge_and_discharge(benchmark::State& state) {
  std::shared_ptr<Ledger> ledger;
  Seat& seat = seat_at(ledger);
  for (auto _ : state) {
    if (!seat.charge(Term::kResident, kMiB) || !seat.discharge(Term::kResident, kMiB)) state.SkipWithError("refused");
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(charge_and_discharge);

void look(benchmark::State& state) {
  std::shared_ptr<Ledger> ledger;
  seat_at(ledger);
  for (auto _ : state) benchmark::DoNotOptimize(ledger->look());
}
BENCHMARK(look);

void ask(benchmark::State& state) {
  std::shared_ptr<Ledger> ledger;
  Seat& seat = seat_at(ledger);
  for (auto _ : state) {
    const auto granted = seat.ask(Term::kPromised, kMiB, [](const LedgerView& view) { return view.seats.size() == 1; });
    if (!granted || !granted.value()) state.SkipWithError("refused");
    (void)seat.discharge(Term::kPromised, kMiB);
  }
}
BENCHMARK(ask);

}  // namespace
}  // namespace tidegate::share
