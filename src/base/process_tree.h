// The processes that descend from this one, and whether they all sleep. Linux, with /proc and its `children` files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tidegate/result.h"

namespace tidegate::base {

// Orphaned descendants become children of this process, so that they stay below it in the tree.
Result<void> adopt_orphans();

// Where a process stands in the tree, the same in every run if each process starts its children in the same order:
// the line of descent from below this process down to it, each by its birth. Compare lexicographically.
using Lineage = std::vector<std::uint64_t>;
Lineage lineage_of(int pid);
std::string name_of_process(int pid);  // of its program, at most 15 characters; empty: it is gone

// Whether no thread of any descendant is running, runnable or in an uninterruptible wait, and none was between two
// looks. `waits_for_us`: nobody else will wake that thread, so that it needs one look only. The answer holds until we
// wake somebody, a timer or the world outside does.
bool descendants_sleep(const std::function<bool(int pid, int thread)>& waits_for_us);

}  // namespace tidegate::base
