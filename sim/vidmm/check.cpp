// The ledgers against the allocations they sum up. Walks everything: for tests and debug runs.
#include <map>

#include "sim/vidmm/vidmm.h"

namespace tidegate::sim::vidmm {

namespace {

struct Sums {
  Bytes committed = 0;
  Bytes resident = 0;
  Bytes demoted = 0;
  Bytes untouched = 0;
  Bytes non_local = 0;
  Bytes fixed = 0;
  Bytes owed = 0;
  std::size_t listed = 0;
};

Sums sums_of(const Adapter& adapter, int process) {
  Sums sums;
  for (const auto& [id, alloc] : adapter.allocs) {
    if (alloc.owner != process) continue;
    sums.committed += alloc.bytes;
    sums.resident += alloc.resident;
    if (!alloc.touched) sums.untouched += alloc.resident;
    if (alloc.kind == Kind::kContext || alloc.kind == Kind::kForeign) sums.fixed += alloc.resident;
    if (alloc.place == Place::kNonLocal) sums.non_local += alloc.bytes;
    if (alloc.place == Place::kMissing) sums.owed += alloc.bytes - alloc.resident;
    const bool waits = alloc.place == Place::kMissing && alloc.touched;
    if (waits || alloc.place == Place::kNonLocal) sums.demoted += alloc.bytes;
    sums.listed += alloc.place == Place::kNone ? 0 : 1;
  }
  return sums;
}

}  // namespace

std::string check_invariants(const Adapter& adapter) {
  std::string wrong;
  const auto expect = [&](bool holds, const std::string& what) {
    if (!holds && wrong.empty()) wrong = what;
  };
  Bytes coming = 0;
  std::map<int, Bytes> coming_charged;
  for (const auto& [when, reclaim] : adapter.reclaims) {
    coming += reclaim.resident;
    coming_charged[reclaim.process] += reclaim.charged;
    expect(when.first >= adapter.now, "a reclaim is overdue");
  }
  Bytes committed = 0;
  Bytes resident = 0;
  for (const auto& [process, client] : adapter.clients) {
    const std::string name = "process " + std::to_string(process) + ": ";
    const Sums sums = sums_of(adapter, process);
    expect(client.committed == sums.committed, name + "committed");
    expect(client.resident == sums.resident, name + "resident");
    expect(client.demoted == sums.demoted, name + "demoted");
    expect(client.untouched == sums.untouched, name + "untouched");
    expect(client.non_local == sums.non_local, name + "non-local");
    expect(client.fixed == sums.fixed, name + "fixed");
    expect(client.owed == sums.owed, name + "owed");
    expect(client.charged == client.committed + coming_charged[process], name + "charged");
    expect(client.resident_list.size() + client.missing.size() + client.overflow.size() == sums.listed, name + "lists");
    for (const AllocId id : client.resident_list) {
      const Alloc& alloc = adapter.allocs.at(id);
      expect(alloc.resident == alloc.bytes && alloc.touched, name + "a resident allocation is not wholly there");
    }
    for (const AllocId id : client.overflow) {
      expect(adapter.allocs.at(id).resident == 0, name + "an allocation in system memory is in VRAM");
    }
    committed += client.committed;
    resident += client.resident;
  }
  expect(adapter.committed == committed, "committed");
  expect(adapter.resident == resident + coming, "resident");
  expect(adapter.resident <= adapter.capacity, "more is resident than there is");
  return wrong;
}

}  // namespace tidegate::sim::vidmm
