#include "src/share/governor.h"

#include <algorithm>

namespace tidegate::share {

Governor::Governor(std::shared_ptr<Ledger> ledger, Seat& seat, Holder& holder,
                   std::function<std::optional<CardReading>()> read, GovernorOptions options)
    : ledger_(std::move(ledger)),
      seat_(seat),
      holder_(holder),
      read_(std::move(read)),
      options_(options),
      headroom_(base_headroom(ledger_->capacity()), ledger_->capacity()) {}

void Governor::book(const HolderState& holder) {
  const Bytes budget = budget_.load(std::memory_order_relaxed);
  // Refused only where the holder claims more than the card has; then the last books stand, and the next step tries
  // again.
  (void)seat_.update([&](SeatState& state) {
    state[Term::kResident] = holder.held;
    state[Term::kPromised] = budget > holder.held ? budget - holder.held : 0;
    state[Term::kPinnedHost] = holder.pinned_host;
    state.floor = state[Term::kContext] + holder.floor;
    state.reclaimable = holder.held > holder.floor ? holder.held - holder.floor : 0;
    state.restore_ns = holder.restore_ns;
    state.last_use = holder.last_use;
  });
}

Bytes Governor::foreign_of(const CardReading& reading, const LedgerView& view) {
  // A seat's bytes look foreign from its touching them until its next booking: what two readings agree on is foreign.
  const SignedBytes foreign = foreign_now(reading, view.seats);
  watch_.note(reading.at, std::min(foreign, last_foreign_));
  last_foreign_ = foreign;
  return watch_.largest(reading.at);
}

void Governor::lower(Bytes bytes, const HolderState& holder) {
  const Bytes budget = budget_.load(std::memory_order_relaxed);
  const Bytes next = std::max(holder.floor, budget > bytes ? budget - bytes : 0);
  if (next >= budget) return;
  budget_.store(next, std::memory_order_relaxed);
  holder_.set_budget(next);
  // Promises are gone at once, bytes when the holder has given them back.
  book(holder_.state());
}

void Governor::wish(Bytes bytes, base::Nanos now) {
  (void)seat_.update([&](SeatState& state) {
    // A wish that is renewed keeps its age: it has waited since then.
    if (bytes > 0 && state.wants == 0) state.wants_since = now;
    state.wants = bytes;
    state.wants_until = bytes > 0 ? now + options_.patience : 0;
  });
}

void Governor::grow(const HolderState& holder, const CardReading& reading, base::Nanos now) {
  const Bytes budget = budget_.load(std::memory_order_relaxed);
  const Bytes want = std::min(holder.wants, ledger_->capacity()) - std::min(holder.wants, budget);
  wish(want, now);
  if (want == 0) return;
  LedgerView view = ledger_->look();
  const Bytes foreign = watch_.largest(reading.at);
  const Request request{seat_.row(), want, std::min(want, options_.grain), true};
  const Decision decision = decide(request, reading, view.seats, foreign, options_.rules, now);
  if (decision.bytes == 0) return;
  const auto granted = seat_.ask(Term::kPromised, decision.bytes, [&](const LedgerView& with) {
    return room(reading, with.seats, foreign, options_.rules.headroom) >= 0;
  });
  if (!granted || !granted.value()) return;  // another one asked at the same instant; both look again
  (void)seat_.update([&](SeatState& state) {
    state.granted = static_cast<std::uint64_t>(now);
    state.held_until = now + options_.rules.hold;
  });
  budget_.store(budget + decision.bytes, std::memory_order_relaxed);
  holder_.set_budget(budget + decision.bytes);
  wish(want - decision.bytes, now);
}

base::Nanos Governor::step(base::Nanos now) {
  const HolderState holder = holder_.state();
  book(holder);
  if (const Bytes spilled = spilled_.exchange(0, std::memory_order_relaxed); spilled > 0)
    headroom_.spilled(now, spilled);
  options_.rules.headroom = headroom_.at(now);
  headroom_word_.store(options_.rules.headroom, std::memory_order_relaxed);

  const std::optional<CardReading> reading = read_();
  if (!reading) return now + options_.period;
  const LedgerView view = ledger_->look();
  const Bytes foreign = foreign_of(*reading, view);
  const auto of_mine = [&](const std::map<int, Bytes>& by_row) {
    const auto found = by_row.find(seat_.row());
    return found == by_row.end() ? Bytes{0} : found->second;
  };
  const Bytes leaving = holder.held - std::min(holder.held, budget());
  // By what is foreign now: what was foreign a second ago and is gone needs no room.
  const Bytes foreign_here = static_cast<Bytes>(std::max<SignedBytes>(0, foreign_now(*reading, view.seats)));
  Bytes gives = std::max(of_mine(shed(*reading, view.seats, foreign_here, options_.rules.headroom)),
                         of_mine(recalled(*reading, view.seats, foreign, options_.rules, now)));
  const bool idle = now - holder.last_use >= options_.idle_release;
  if (idle) gives = budget();
  // What it was promised and cannot use any more, others can.
  const Bytes of_use = std::max(holder.wants, holder.held);
  gives = std::max(gives, budget() - std::min(budget(), of_use));
  // What is on its way out already was asked for before.
  gives -= std::min(gives, leaving);
  if (gives > 0 || idle) {
    wish(0, now);
    lower(gives, holder);
  } else {
    grow(holder, *reading, now);
  }
  return now + options_.period;
}

}  // namespace tidegate::share
