// The shared book of one card: 64 rows, one for each process that holds or wants memory of it. No daemon.
//
// Each row has one writer, its process, and is written into the one of two copies that nobody reads, then switched to:
// a writer that stops or dies anywhere leaves a whole state, and nobody ever waits for anybody (I8). There is no lock
// over the books: who wants bytes writes them down as promised first and then looks whether all promises fit
// (Seat::ask), so of two who ask at the same instant at least one sees the other. A row counts while its process holds
// the lock on it, which the system drops with the process, whatever its namespace; a row without one is nobody's.
// docs/sharing.md has the layout.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/share/ledger_store.h"
#include "src/share/seat.h"
#include "tidegate/result.h"

namespace tidegate::share {

inline constexpr int kSeats = 64;
inline constexpr const char* kLedgerFolderVariable = "TIDEGATE_LEDGER_DIR";

struct LedgerView {
  Bytes capacity = 0;
  std::vector<SeatView> seats;    // the living, by row
  std::vector<int> unbelievable;  // rows of living processes whose content cannot be true: their bytes are foreign
};

class Ledger;
struct LedgerRow;

// This process's row. The books are told before bytes are taken and after they are given back. Any thread.
class Seat {
 public:
  ~Seat();  // all terms go to nothing and the row is free
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  int row() const { return row_; }
  SeatState state() const;

  // Errors: kInvalidArgument, nothing changed, for more than the card has (kInvalidArgument also for a discharge of
  // more than the term has), kClosed in a forked child, which has to take a seat of its own.
  Result<void> charge(Term term, Bytes bytes);
  Result<void> discharge(Term term, Bytes bytes);
  Result<void> move(Term from, Term to, Bytes bytes);
  // Changes anything at once; `change` must not call the seat. Errors as above, by the state that it leaves.
  Result<void> update(const std::function<void(SeatState&)>& change);

  // Promises itself `bytes` of `term` (kPromised, kPinnedPromised), then lets `fits` look at the books with the promise
  // in them. False: the promise is withdrawn. Never waits.
  Result<bool> ask(Term term, Bytes bytes, const std::function<bool(const LedgerView&)>& fits);

 private:
  friend class Ledger;
  Seat(std::shared_ptr<Ledger> ledger, int row, const SeatState& state);
  Result<void> change_locked(SeatState next);

  std::shared_ptr<Ledger> ledger_;
  int row_;
  std::uint64_t fork_generation_;
  mutable base::Mutex mutex_;
  SeatState state_;  // what counts; the row repeats it, so that nobody's scribbling survives the next change
};

class Ledger : public std::enable_shared_from_this<Ledger> {
 public:
  // The file of this user and card: $TIDEGATE_LEDGER_DIR/<uuid>, else /dev/shm/tidegate-<uid>/<uuid>. Errors:
  // kBadFile (another version, other content, another capacity: not believed, with what to do), kInvalidArgument
  // (a UUID that is no file name; a folder or file that is not this user's alone), kIo.
  static Result<std::shared_ptr<Ledger>> open(const std::string& card_uuid, Bytes capacity);
  // On a store that is given: a table in simulation, any memory in tests.
  static Result<std::shared_ptr<Ledger>> attach(std::unique_ptr<LedgerStore> store, Bytes capacity);
  // The first content of a store.
  static void format(std::span<std::byte> bytes, Bytes capacity);
  static std::size_t bytes_needed();

  // Errors: kOutOfMemory (all rows are taken), kInvalidArgument (this process has a seat already).
  Result<std::unique_ptr<Seat>> take_seat(const std::string& name, std::int64_t priority = 0);

  // A look at everybody: each row is as its process left it at some instant during the call. Never waits.
  LedgerView look() const;

  Bytes capacity() const { return capacity_; }

 private:
  friend class Seat;
  Ledger(std::unique_ptr<LedgerStore> store, Bytes capacity) : store_(std::move(store)), capacity_(capacity) {}
  void leave(int row);
  LedgerRow* row_at(int row) const;

  std::unique_ptr<LedgerStore> store_;
  Bytes capacity_;
  base::Mutex mutex_;  // of taking and leaving a seat
};

}  // namespace tidegate::share
