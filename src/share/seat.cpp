#include <algorithm>

#include "src/share/ledger_layout.h"

namespace tidegate::share {

Seat::Seat(std::shared_ptr<Ledger> ledger, int row, const SeatState& state)
    : ledger_(std::move(ledger)), row_(row), fork_generation_(base::fork_generation()), state_(state) {}

Seat::~Seat() {
  if (fork_generation_ == base::fork_generation()) ledger_->leave(row_);
}

SeatState Seat::state() const {
  const base::Lock hold(mutex_);
  return state_;
}

Result<void> Seat::change_locked(SeatState next) {
  if (fork_generation_ != base::fork_generation()) {
    return Error{Errc::kClosed, "the seat is the parent process's; a forked child takes its own"};
  }
  // What is gone cannot be given back.
  next.reclaimable = std::min(next.reclaimable, next.held());
  next.by_callback = std::min(next.by_callback, next.held() - next.reclaimable);
  if (!believable(next, ledger_->capacity_)) {
    return Error{Errc::kInvalidArgument, "a seat cannot hold, promise or want more than the card has"};
  }
  state_ = next;
  write_state(*ledger_->row_at(row_), state_);
  return {};
}

Result<void> Seat::charge(Term term, Bytes bytes) {
  const base::Lock hold(mutex_);
  SeatState next = state_;
  // A sum that wraps would look small.
  if (bytes >> 56 != 0) return Error{Errc::kInvalidArgument, "no charge is that large"};
  next[term] += bytes;
  return change_locked(next);
}

Result<void> Seat::discharge(Term term, Bytes bytes) {
  const base::Lock hold(mutex_);
  SeatState next = state_;
  if (bytes > next[term]) {
    return Error{Errc::kInvalidArgument, std::string("more is given back than is booked as ") + name_of(term)};
  }
  next[term] -= bytes;
  return change_locked(next);
}

Result<void> Seat::move(Term from, Term to, Bytes bytes) {
  const base::Lock hold(mutex_);
  SeatState next = state_;
  if (bytes > next[from]) {
    return Error{Errc::kInvalidArgument, std::string("more is moved than is booked as ") + name_of(from)};
  }
  next[from] -= bytes;
  next[to] += bytes;
  return change_locked(next);
}

Result<void> Seat::update(const std::function<void(SeatState&)>& change) {
  const base::Lock hold(mutex_);
  SeatState next = state_;
  change(next);
  return change_locked(next);
}

Result<bool> Seat::ask(Term term, Bytes bytes, const std::function<bool(const LedgerView&)>& fits) {
  if (term != Term::kPromised && term != Term::kPinnedPromised) {
    return Error{Errc::kInvalidArgument, std::string("asked for as ") + name_of(term) + ", which is no promise"};
  }
  if (auto promised = charge(term, bytes); !promised) return promised.error();
  if (fits(ledger_->look())) return true;
  if (auto withdrawn = discharge(term, bytes); !withdrawn) return withdrawn.error();
  return false;
}

}  // namespace tidegate::share
