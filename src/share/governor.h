// The task that keeps one process's budget right: books what its holder has, gives back what others need, asks for
// more.
//
// It runs 20 to 50 times a second, between leases and without the program: the holder (a pager, through an adapter)
// learns its budget and nothing of the ledger. A budget is held plus promised bytes in the books, so that the holder
// may take frames up to it at any moment without asking again; it is raised after the promise stands, and lowered
// before the books are credited.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "src/share/admission.h"
#include "src/share/headroom.h"
#include "src/share/ledger.h"

namespace tidegate::share {

struct HolderState {
  Bytes held = 0;   // on the card and touched, what is on its way out included
  Bytes floor = 0;  // the least budget it accepts
  Bytes wants = 0;  // the budget it could use
  Bytes pinned_host = 0;
  base::Nanos restore_ns = 0;  // to bring back all above the floor
  base::Nanos last_use = 0;
};

// What is governed. Called from the governor's step only; neither call waits.
class Holder {
 public:
  virtual ~Holder() = default;
  virtual HolderState state() = 0;
  // Lower: gives the excess back as its uses end (I4). Never below the floor.
  virtual void set_budget(Bytes budget) = 0;
};

struct GovernorOptions {
  AdmissionRules rules;                           // its headroom is set by the governor
  base::Nanos period = 25 * base::kMillisecond;   // DESIGN: 20 to 50 Hz
  base::Nanos patience = 2 * base::kSecond;       // how long a wish stands before it is renewed
  base::Nanos idle_release = 60 * base::kSecond;  // unused for so long, it keeps its floor only
  Bytes grain = 64 * kMiB;                        // the budget grows by no less, but for the last piece
};

class Governor final : public base::Task {
 public:
  // `read` answers the card's device-wide reading, or nothing where no sensor does: then nothing grows. What it refers
  // to outlives the governor.
  Governor(std::shared_ptr<Ledger> ledger, Seat& seat, Holder& holder, std::function<std::optional<CardReading>()> read,
           GovernorOptions options = {});

  const char* name() const override { return "governor"; }
  base::Nanos step(base::Nanos now) override;

  // The published word. Any thread.
  Bytes budget() const { return budget_.load(std::memory_order_relaxed); }

  // Work that ran anyway took so much longer than it used to that bytes must have been demoted, or a counter said so:
  // the headroom grows by `bytes`. Any thread; takes effect in the next step.
  void spilled(Bytes bytes) { spilled_.fetch_add(bytes, std::memory_order_relaxed); }
  Bytes headroom() const { return headroom_word_.load(std::memory_order_relaxed); }

 private:
  void book(const HolderState& holder);
  void lower(Bytes bytes, const HolderState& holder);
  void grow(const HolderState& holder, const CardReading& reading, base::Nanos now);
  void wish(Bytes bytes, base::Nanos now);
  Bytes foreign_of(const CardReading& reading, const LedgerView& view);

  std::shared_ptr<Ledger> ledger_;
  Seat& seat_;
  Holder& holder_;
  std::function<std::optional<CardReading>()> read_;
  GovernorOptions options_;
  Headroom headroom_;
  ForeignWatch watch_;
  SignedBytes last_foreign_ = 0;
  std::atomic<Bytes> budget_{0};
  std::atomic<Bytes> spilled_{0};
  std::atomic<Bytes> headroom_word_{0};
};

}  // namespace tidegate::share
