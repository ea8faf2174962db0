// What one process says of itself in the ledger of a card: plain data, in bytes and nanoseconds of the monotonic clock.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "src/base/executor.h"
#include "src/base/shared_file.h"
#include "tidegate/bytes.h"

namespace tidegate::share {

// Where a seat's bytes are. Disjoint: a byte is in one term. The order is the file's; new terms go to the end.
enum class Term : std::uint32_t {
  kContext,         // the driver's own share: contexts, handles
  kResident,        // taken and touched
  kCachedFree,      // held and unused: an allocator's cache
  kOther,           // held, and known only by the OS's number for the process
  kUntouched,       // taken, not yet touched: the card does not count it yet
  kPromised,        // granted, not yet taken
  kPinnedHost,      // host memory, locked
  kPinnedPromised,  // host memory granted, not yet locked
  kCount,
};
const char* name_of(Term term);  // "context", "resident", "cached-free", ...

struct SeatState {
  std::array<Bytes, static_cast<std::size_t>(Term::kCount)> terms{};
  Bytes floor = 0;             // of the bytes held: the least it can run with
  Bytes reclaimable = 0;       // of the bytes held: what it gives back itself, between leases
  Bytes by_callback = 0;       // of the bytes held, beyond `reclaimable`: what its program may give back if asked
  base::Nanos restore_ns = 0;  // what bringing all of `reclaimable` back would take
  Bytes wants = 0;             // asked for and not granted yet
  base::Nanos wants_since = 0;
  base::Nanos wants_until = 0;  // its deadline; a wish past it counts for nothing
  base::Nanos held_until = 0;   // what was granted is not recalled before, but for a higher priority
  base::Nanos last_use = 0;
  std::uint64_t granted = 0;  // when it was last granted something; larger is newer
  std::int64_t priority = 0;  // larger goes first

  Bytes& operator[](Term term) { return terms[static_cast<std::size_t>(term)]; }
  Bytes operator[](Term term) const { return terms[static_cast<std::size_t>(term)]; }

  // On the card, or about to be: all device terms but the promised.
  Bytes held() const;
  // What the card's own reading counts.
  Bytes touched() const { return held() - (*this)[Term::kUntouched]; }
  bool operator==(const SeatState&) const = default;
};

// A seat as others see it.
struct SeatView {
  int row = 0;
  std::uint64_t generation = 0;  // of the row's tenants: a later tenant has a larger one
  base::ProcessIdentity process;
  std::string name;
  SeatState state;
};

}  // namespace tidegate::share
