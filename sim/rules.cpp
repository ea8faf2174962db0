#include "sim/rules.h"

#include <algorithm>

namespace tidegate::sim {

namespace {

constexpr Rule kRules[] = {
    {1, "W-1", "there are two budget groups, LOCAL and NON_LOCAL", "only LOCAL is answered"},
    {2, "W-2", "allocations are rounded to the page, 64 KiB", "they are as large as asked for"},
    {3, "W-3", "NON_LOCAL is at most half of RAM, which bounds what is committed", "RAM bounds nothing"},
    {4, "W-4", "more may be committed than there is", "an allocation beyond VRAM is refused"},
    {5, "W-5", "a process may be over its budget", "what exceeds the budget is refused"},
    {6, "W-6", "DXGI answers the calling process's budget and usage", "DXGI is not supported"},
    {9, "W-9", "lifecycle events move budgets, growth does not", "every allocation moves all budgets"},
    {10, "W-10", "cuMemGetInfo's free is budget less own usage", "it is the device's, as on Linux"},
    {11, "W-11", "an idle machine's budget is less than what is free", "it is all that is free"},
    {12, "W-12", "usage is the process's own", "DXGI tells the device's"},
    {13, "W-13", "work needs the device's whole residency list", "only the memory that it touches"},
    {14, "W-14", "MakeResident and Evict are counted", "one Evict undoes all"},
    {15, "W-15", "MakeResident takes a batch or refuses it", "it takes what does not fit"},
    {20, "W-20", "the paging queue is first in, first out", "operations overtake each other"},
    {21, "W-21", "work waits for the paging fence", "it starts at once"},
    {22, "W-22", "a freed address's queued mapping is ignored", "it is carried out over the newer one (H-8)"},
    {24, "W-24", "destruction waits for queued commands, unless W-25", "it waits for nothing"},
    {25, "W-25", "the flags AssumeNotInUse and SynchronousDestroy are heeded", "destruction is always as W-24 says"},
    {26, "W-26", "the driver destroys with the profile's flags", "it passes none: as W-24 says"},
    {27, "W-27", "released memory comes back later", "when the call returns"},
    {28, "W-28", "mappings write page tables", "there are none, and no H-2 or H-8"},
    {29, "W-29", "a table may go with entries still valid", "its entries are invalidated first"},
    {30, "W-30", "a slot covered whole has a large entry that names its owner", "entries name nobody"},
    {31, "W-31", "memory of other processes can be demoted", "nothing is demoted for another process"},
    {32, "W-32", "victims: over budget, then low priority, then idle longest", "the process that came first"},
    {33, "W-33", "a page-in takes its transfer's time", "it takes none"},
    {34, "W-34", "a suspended process's work stands still", "suspension does nothing"},
    {36, "W-36", "the knobs of fault injection turn", "they do nothing"},
    {39, "W-39", "mappings keep memory whose handles are gone", "the last handle takes it along"},
    {40, "W-40", "unmapping waits for no work", "it waits"},
    {41, "W-41", "cuMemSetAccess answers NOT_READY after an eviction and for want of room", "it never does"},
    {42, "W-42", "without sysmem fallback what exceeds VRAM is refused", "that setting does nothing"},
    {43, "W-43", "a synchronise gives back what pools hold above their threshold", "pools keep it"},
    {44, "W-44", "page-locked memory has a wall (pin_model)", "it has none"},
    {45, "W-45", "NVML tells no process's bytes", "it does, as on Linux"},
    {46, "W-46", "a tcc card behaves as Linux does", "it behaves as wddm"},
    {kRuleC1, "C-1", "calls that make a handle fail now and then, and change nothing (out_of_memory_probability)",
     "they do not"},
    {kRuleC2, "C-2", "sizes must be multiples of the granularity", "they are rounded up"},
    {kRuleC3, "C-3", "unmapping memory in use is reported (H-4)", "it is silent"},
    {kRuleC4, "C-4", "errors 700, 702, 719 and 999 stay with the context", "the next call succeeds"},
    {kRuleA4, "A.4", "calls have slow cases (slow_factor), and a pending page-in delays cuMemSetAccess",
     "each call takes its mean"},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

const Rule* find_rule(std::string_view name) {
  const auto* found = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.name == name; });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace tidegate::sim
