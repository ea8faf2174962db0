// What only the simulation can do to a card under Windows: read the video memory manager's ledgers, turn the knobs of
// its fault injection (W-36), change a process's standing. Each answers false, or zeros, for a card without it.
// Thread-safe, as Machine is.
#pragma once

#include "sim/process.h"
#include "sim/vidmm/state.h"

namespace tidegate::sim::wddm {

// Bytes of one process on one card, or of all.
struct Ledgers {
  Bytes budget = 0;
  Bytes committed = 0;
  Bytes resident = 0;
  Bytes usage = 0;  // charged against the budget: committed, less demoted
  Bytes demoted = 0;
  Bytes evicted_total = 0;
  base::Nanos pending_time = 0;  // H-6: how long some operation of its paging queue was pending
};

Ledgers ledgers_of(Process& process, int card = 0);
// Of the card that `any`'s machine has; `any` only names the machine.
vidmm::Counters counters_of(Process& any, int card = 0);
// As committed by all processes, and what of it is resident; `reclaiming`: given back, not yet back.
struct CardLedgers {
  Bytes capacity = 0;
  Bytes committed = 0;
  Bytes resident = 0;
  Bytes reclaiming = 0;
};
CardLedgers card_ledgers_of(Process& any, int card = 0);

// A smaller budget demotes what exceeds it at once.
bool set_knobs(Process& process, const vidmm::Knobs& knobs, int card = 0);
bool set_no_demotion(Process& any, bool value, int card = 0);
// All the process's memory that can be moved leaves VRAM.
bool evict_process(Process& process, int card = 0);
// The paging queue begins nothing for that time, counted from now.
bool delay_execution(Process& process, base::Nanos time, int card = 0);
// Nothing of the process is scheduled for that time (W-34).
bool suspend(Process& process, base::Nanos time, int card = 0);
// A lifecycle event (W-9). Invisible processes are demoted first.
bool set_visible(Process& process, bool visible, int card = 0);
// 0 ... 4, Min ... Max (W-31).
bool set_priority(Process& process, int priority, int card = 0);

}  // namespace tidegate::sim::wddm
