// Who may take how much of a card, and who gives back: pure functions over the books and a reading.
//
// All processes compute the same from the same books, so nobody decides for another and a request dies with who made
// it. Amounts of room are signed: below zero, more is held or promised than there is room for.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>

#include "src/share/seat.h"

namespace tidegate::share {

using SignedBytes = std::int64_t;

// What the card itself says.
struct CardReading {
  Bytes capacity = 0;     // what all programs together can have: the total less the driver's reserve
  Bytes device_free = 0;  // device-wide
  base::Nanos at = 0;
};

struct AdmissionRules {
  Bytes headroom = 0;                           // stays free: the standing allowance and what was learned
  base::Nanos hold = 500 * base::kMillisecond;  // what was granted is not recalled before
  base::Nanos idle_after = 1 * base::kSecond;   // unused for so long, a holder counts as idle
  base::Nanos age_step = 2 * base::kSecond;     // waiting for so long counts as one step of priority
};

// max(512 MiB, 5 % of the card) (DESIGN: standing allowance).
Bytes base_headroom(Bytes capacity);

// Bytes on the card that no seat explains. Below zero: the books claim more than the card counts, a violation of I7.
SignedBytes foreign_now(const CardReading& reading, std::span<const SeatView> seats);

// The largest value of the last seconds: foreign programs free and take again.
class ForeignWatch {
 public:
  explicit ForeignWatch(base::Nanos window = 3 * base::kSecond) : window_(window) {}
  void note(base::Nanos now, SignedBytes foreign);
  Bytes largest(base::Nanos now) const;

 private:
  base::Nanos window_;
  std::deque<std::pair<base::Nanos, Bytes>> values_;  // falling, so that the first is the largest
};

// What is left beyond everything held and promised in the books:
//   min(device_free - promised - untouched - headroom, capacity - sum(held + promised) - foreign).
// Each byte is taken off once: a reading of device-wide scope has the others' bytes in it, and no reserve is added.
SignedBytes room(const CardReading& reading, std::span<const SeatView> seats, Bytes foreign, Bytes headroom);

enum class Verdict { kGrant, kPart, kWait, kRefuse };
struct Decision {
  Verdict verdict = Verdict::kRefuse;
  Bytes bytes = 0;     // granted
  std::string reason;  // of a refusal, a wait, a part
};
struct Request {
  int row = -1;  // the asker's; its own wish stands in the books while it waits
  Bytes bytes = 0;
  Bytes least = 0;        // the smallest part that is of use at the deadline; 0: all or nothing
  bool part_now = false;  // a part of at least `least` is taken at once, without waiting for the rest
};

// The books are those without a promise for this request. A wish that came earlier, or has waited itself up to a higher
// priority, goes first, so none starves. Refused at once is what could not be had if everybody gave back down to its
// floor. The wish's deadline is SeatState::wants_until.
Decision decide(const Request& request, const CardReading& reading, std::span<const SeatView> seats, Bytes foreign,
                const AdmissionRules& rules, base::Nanos now);

// Who gives back how much so that the wishes in the books can be granted, by row: idle longest first, then the lowest
// priority, then the cheapest to restore. Nothing that was granted less than rules.hold ago, but for a higher priority;
// a busy equal keeps its fair share; nobody goes below its floor. The sum may fall short of what is wanted.
std::map<int, Bytes> recalled(const CardReading& reading, std::span<const SeatView> seats, Bytes foreign,
                              const AdmissionRules& rules, base::Nanos now);

// Who sheds how much after the card turned out to have less than was granted, by row: the newest grant first, its
// promises before its bytes, whatever its priority and hold time.
std::map<int, Bytes> shed(const CardReading& reading, std::span<const SeatView> seats, Bytes foreign, Bytes headroom);

}  // namespace tidegate::share
