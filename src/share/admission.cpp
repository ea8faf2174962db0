#include "src/share/admission.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace tidegate::share {
namespace {

SignedBytes as_signed(Bytes bytes) { return static_cast<SignedBytes>(bytes); }
Bytes above_zero(SignedBytes bytes) { return bytes > 0 ? static_cast<Bytes>(bytes) : 0; }
double mib(SignedBytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

bool wishes(const SeatState& state, base::Nanos now) { return state.wants > 0 && state.wants_until > now; }

// Waiting raises everybody at the same pace, so a later wish of the same priority never passes an earlier one.
std::int64_t aged_priority(const SeatState& state, const AdmissionRules& rules, base::Nanos now) {
  return state.priority + (now - state.wants_since) / rules.age_step;
}

bool goes_before(const SeatView& a, const SeatView& b, const AdmissionRules& rules, base::Nanos now) {
  return std::tuple(-aged_priority(a.state, rules, now), a.state.wants_since, a.row) <
         std::tuple(-aged_priority(b.state, rules, now), b.state.wants_since, b.row);
}

// What a seat can give without its program.
Bytes can_give(const SeatState& state) {
  const Bytes held = state.held();
  return std::min(state.reclaimable, held > state.floor ? held - state.floor : 0);
}

struct Holder {
  const SeatView* seat;
  Bytes left;  // to give
};

}  // namespace

Bytes base_headroom(Bytes capacity) { return std::max(512 * kMiB, capacity / 20); }

SignedBytes foreign_now(const CardReading& reading, std::span<const SeatView> seats) {
  SignedBytes foreign = as_signed(reading.capacity) - as_signed(reading.device_free);
  for (const SeatView& seat : seats) foreign -= as_signed(seat.state.touched());
  return foreign;
}

void ForeignWatch::note(base::Nanos now, SignedBytes foreign) {
  const Bytes value = above_zero(foreign);
  while (!values_.empty() && values_.back().second <= value) values_.pop_back();
  values_.emplace_back(now, value);
  while (values_.front().first < now - window_) values_.pop_front();
}

Bytes ForeignWatch::largest(base::Nanos now) const {
  for (const auto& [at, value] : values_) {
    if (at >= now - window_) return value;
  }
  // Nobody has looked for long: the last value is the best there is.
  return values_.empty() ? 0 : values_.back().second;
}

SignedBytes room(const CardReading& reading, std::span<const SeatView> seats, Bytes foreign, Bytes headroom) {
  SignedBytes by_reading = as_signed(reading.device_free) - as_signed(headroom);
  SignedBytes by_books = as_signed(reading.capacity) - as_signed(foreign);
  for (const SeatView& seat : seats) {
    const Bytes promised = seat.state[Term::kPromised];
    by_reading -= as_signed(promised + seat.state[Term::kUntouched]);
    by_books -= as_signed(promised + seat.state.held());
  }
  return std::min(by_reading, by_books);
}

Decision decide(const Request& request, const CardReading& reading, std::span<const SeatView> seats, Bytes foreign,
                const AdmissionRules& rules, base::Nanos now) {
  const auto self = std::find_if(seats.begin(), seats.end(), [&](const auto& seat) { return seat.row == request.row; });
  if (self == seats.end()) return {Verdict::kRefuse, 0, "who asks has no seat"};
  Bytes ahead = 0;
  SignedBytes ever = as_signed(reading.capacity) - as_signed(foreign) - as_signed(rules.headroom);
  for (const SeatView& seat : seats) {
    const SeatState& state = seat.state;
    if (seat.row == request.row) {
      ever -= as_signed(state.held() + state[Term::kPromised]);
      continue;
    }
    ever -= as_signed(state.held() - can_give(state) - std::min(state.by_callback, state.held() - can_give(state)));
    if (!wishes(state, now)) continue;
    // Who asks for the first time stands behind all that wait with as high a priority.
    const bool first = wishes(self->state, now) ? goes_before(seat, *self, rules, now)
                                                : aged_priority(state, rules, now) >= self->state.priority;
    if (first) ahead += state.wants;
  }
  const SignedBytes left = room(reading, seats, foreign, rules.headroom) - as_signed(ahead);
  if (left >= as_signed(request.bytes)) return {Verdict::kGrant, request.bytes, ""};
  const std::string why = fmt::format(
      "{:.0f} MiB are wanted; there is room for {:.0f} MiB ({:.0f} MiB free, {:.0f} MiB foreign, {:.0f} MiB "
      "stay free, {:.0f} MiB wanted by earlier ones)",
      mib(as_signed(request.bytes)), mib(std::max<SignedBytes>(left, 0)), mib(as_signed(reading.device_free)),
      mib(as_signed(foreign)), mib(as_signed(rules.headroom)), mib(as_signed(ahead)));
  const Bytes least = request.least == 0 ? request.bytes : request.least;
  if (ever < as_signed(least)) {
    return {Verdict::kRefuse, 0,
            why + fmt::format("; {:.0f} MiB at most if everybody gives back what it can",
                              mib(std::max<SignedBytes>(ever, 0)))};
  }
  if (!request.part_now && self->state.wants_until > now) return {Verdict::kWait, 0, why};
  if (left >= as_signed(least)) return {Verdict::kPart, static_cast<Bytes>(left), why};
  if (self->state.wants_until > now) return {Verdict::kWait, 0, why};
  return {Verdict::kRefuse, 0, why};
}

std::map<int, Bytes> recalled(const CardReading& reading, std::span<const SeatView> seats, Bytes foreign,
                              const AdmissionRules& rules, base::Nanos now) {
  std::vector<const SeatView*> wishers;
  std::vector<Holder> holders;
  for (const SeatView& seat : seats) {
    if (wishes(seat.state, now)) wishers.push_back(&seat);
    if (can_give(seat.state) > 0) holders.push_back({&seat, can_give(seat.state)});
  }
  if (wishers.empty()) return {};
  std::sort(wishers.begin(), wishers.end(),
            [&](const auto* a, const auto* b) { return goes_before(*a, *b, rules, now); });
  const auto idle_for = [&](const SeatState& state) {
    const base::Nanos idle = now - state.last_use;
    return idle >= rules.idle_after ? idle : 0;
  };
  // Per byte, as a fraction: none is divided by zero, since who can give has something reclaimable.
  const auto dearness = [](const SeatState& state) {
    return static_cast<double>(state.restore_ns) / static_cast<double>(state.reclaimable);
  };
  std::sort(holders.begin(), holders.end(), [&](const Holder& a, const Holder& b) {
    const SeatState& x = a.seat->state;
    const SeatState& y = b.seat->state;
    return std::tuple(-idle_for(x), x.priority, dearness(x), a.seat->row) <
           std::tuple(-idle_for(y), y.priority, dearness(y), b.seat->row);
  });
  const Bytes usable = above_zero(as_signed(reading.capacity) - as_signed(foreign) - as_signed(rules.headroom));
  const Bytes fair = usable / seats.size();

  std::map<int, Bytes> gives;
  SignedBytes left = room(reading, seats, foreign, rules.headroom);
  for (const SeatView* wisher : wishers) {
    left -= as_signed(wisher->state.wants);
    for (Holder& holder : holders) {
      if (left >= 0) break;
      const SeatState& state = holder.seat->state;
      if (holder.seat == wisher || state.priority > wisher->state.priority) continue;
      Bytes most = holder.left;
      if (state.priority == wisher->state.priority) {
        if (state.held_until > now) continue;
        if (idle_for(state) == 0) {
          const Bytes keeps = state.held() - (can_give(state) - holder.left);
          most = std::min(most, keeps > fair ? keeps - fair : 0);
        }
      }
      const Bytes bytes = std::min(most, above_zero(-left));
      if (bytes == 0) continue;
      gives[holder.seat->row] += bytes;
      holder.left -= bytes;
      left += as_signed(bytes);
    }
    // What could not be had for this wish is no debt of the next one.
    left = std::max<SignedBytes>(left, 0);
  }
  return gives;
}

std::map<int, Bytes> shed(const CardReading& reading, std::span<const SeatView> seats, Bytes foreign, Bytes headroom) {
  Bytes excess = above_zero(-room(reading, seats, foreign, headroom));
  std::vector<const SeatView*> order;
  for (const SeatView& seat : seats) order.push_back(&seat);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->state.granted, a->row) > std::tuple(b->state.granted, b->row);
  });
  std::map<int, Bytes> sheds;
  for (const SeatView* seat : order) {
    const Bytes bytes = std::min(excess, seat->state[Term::kPromised] + can_give(seat->state));
    if (bytes > 0) sheds[seat->row] = bytes;
    excess -= bytes;
  }
  return sheds;
}

}  // namespace tidegate::share
