#include "src/share/truth.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace tidegate::share {

namespace {

// A device-wide reading that stays the same to the byte while another moved by so much is frozen.
constexpr std::int64_t kFrozenAfter = 512 * static_cast<std::int64_t>(kMiB);
constexpr base::Nanos kLongestPause = 60 * base::kSecond;

std::int64_t fall(Bytes before, Bytes after) {
  return static_cast<std::int64_t>(before) - static_cast<std::int64_t>(after);
}

// Why a reading cannot be, or nothing.
std::string absurdity(const Reading& reading, Bytes card_total) {
  if (reading.total != 0 && reading.free > reading.total) return "more free than there is";
  if (reading.total == 0 && card_total != 0 && reading.free > card_total) return "more free than the card has";
  // Totals differ by what the driver and, under WDDM, the budget keep back: 2 to 10 % have been seen.
  if (reading.total != 0 && card_total != 0 && (reading.total < card_total / 2 || reading.total / 2 > card_total)) {
    return "its total is of another card";
  }
  return {};
}

std::string mib(Bytes bytes) { return fmt::format("{} MiB", bytes / kMiB); }

}  // namespace

Converted device_free_from(ProcessFree blind, Bytes booked_by_others) {
  return {{blind.bytes - std::min(blind.bytes, booked_by_others)},
          fmt::format("{} that this process sees alone, less {} that other seats have booked", mib(blind.bytes),
                      mib(booked_by_others))};
}

const char* name_of(Standing standing) {
  switch (standing) {
    case Standing::kTrusted:
      return "trusted";
    case Standing::kMissing:
      return "missing";
    case Standing::kFailing:
      return "failing";
    case Standing::kFrozen:
      return "frozen";
    case Standing::kAbsurd:
      return "absurd";
    case Standing::kNotAsked:
      return "not asked";
  }
  return "";
}

Truth::Truth(std::vector<std::unique_ptr<Sensor>> sensors, TruthOptions options) : options_(std::move(options)) {
  for (auto& sensor : sensors) {
    Watched watched;
    watched.state.name = sensor->name();
    watched.sensor = std::move(sensor);
    watched_.push_back(std::move(watched));
  }
}

void Truth::ask(Watched& watched, base::Nanos now) {
  SensorState& state = watched.state;
  if (now < watched.retry_at) return;  // what it said last stands
  auto read = watched.sensor->read();
  state.reading.reset();
  if (!read) {
    state.standing = read.error().code == Errc::kNotFound ? Standing::kMissing : Standing::kFailing;
    state.scope = Scope::kUnknown;
    state.evidence = read.error().message;
    watched.last_free.reset();
    watched.missed = 0;
    watched.pause = watched.pause == 0 ? options_.retry_after : std::min(2 * watched.pause, kLongestPause);
    watched.retry_at = now + watched.pause;
    return;
  }
  watched.pause = 0;
  const Reading& reading = read.value();
  if (reading.assumed && !watched.blindness) {
    watched.blindness.emplace(options_.prior.scope == Scope::kUnknown ? Prior{reading.scope, reading.why}
                                                                      : options_.prior);
  }
  state.scope = watched.blindness ? watched.blindness->scope() : reading.scope;
  state.evidence = watched.blindness ? watched.blindness->evidence() : reading.why;
  const std::string absurd = absurdity(reading, options_.card_total);
  state.standing = absurd.empty() ? Standing::kTrusted : Standing::kAbsurd;
  if (!absurd.empty()) state.evidence = absurd;
  state.reading = std::move(read).value();
}

// Of device-wide readings alone: a blind one is right to stand still.
void Truth::judge_stillness(const Books& books) {
  const auto counts = [](const Watched& watched) {
    return watched.state.standing == Standing::kTrusted && watched.state.scope == Scope::kDevice;
  };
  const std::int64_t own =
      looked_ ? static_cast<std::int64_t>(books.own) - static_cast<std::int64_t>(last_books_.own) : 0;
  for (Watched& watched : watched_) {
    if (!counts(watched) || !watched.last_free) continue;
    if (*watched.last_free != watched.state.reading->free) {
      watched.missed = 0;
      continue;
    }
    std::int64_t most = std::llabs(own);
    for (const Watched& other : watched_) {
      if (&other == &watched || !counts(other) || !other.last_free) continue;
      most = std::max<std::int64_t>(most, std::llabs(fall(*other.last_free, other.state.reading->free)));
    }
    watched.missed += most;
  }
  for (Watched& watched : watched_) {
    if (counts(watched) && watched.missed >= kFrozenAfter) {
      watched.state.standing = Standing::kFrozen;
      watched.state.evidence =
          fmt::format("the same to the byte while {} moved", mib(static_cast<Bytes>(watched.missed)));
    }
  }
}

// Teaches the judges of assumed scopes, and finds repartitions.
void Truth::learn(const Books& books) {
  std::optional<Bytes> certain;  // the lowest device-wide reading whose scope nobody has to guess
  for (const Watched& watched : watched_) {
    const SensorState& state = watched.state;
    if (state.standing != Standing::kTrusted || state.scope != Scope::kDevice || state.reading->assumed) continue;
    certain = certain ? std::min(*certain, state.reading->free) : state.reading->free;
  }
  if (looked_) {
    Movement movement;
    movement.own = static_cast<std::int64_t>(books.own) - static_cast<std::int64_t>(last_books_.own);
    movement.others = static_cast<std::int64_t>(books.others) - static_cast<std::int64_t>(last_books_.others);
    if (certain && last_true_) movement.others = fall(*last_true_, *certain) - movement.own;
    for (Watched& watched : watched_) {
      if (!watched.blindness || !watched.state.reading || !watched.last_free) continue;
      movement.fell = fall(*watched.last_free, watched.state.reading->free);
      const auto jump = Blindness::jump(movement);
      if (watched.state.scope == Scope::kProcess && jump) {
        Change change{Change::Kind::kRepartition, *jump, last_bias_, std::nullopt};
        if (certain) change.bias_after = fall(watched.state.reading->free, *certain);
        report(change);
      }
      watched.blindness->observe(movement);
      watched.state.scope = watched.blindness->scope();
      watched.state.evidence = watched.blindness->evidence();
    }
  }
  last_true_ = certain;
}

void Truth::report(Change change) {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  if (options_.on_change) options_.on_change(change);
}

Result<Decision> Truth::look(const Books& books, base::Nanos now) {
  const auto trusted = [](const SensorState& state, Scope scope) {
    return state.standing == Standing::kTrusted && state.scope == scope;
  };
  for (Watched& watched : watched_) {
    if (!watched.sensor->last_resort()) ask(watched, now);
  }
  const auto known = [&] {
    return std::any_of(watched_.begin(), watched_.end(),
                       [&](const Watched& watched) { return trusted(watched.state, Scope::kDevice); });
  };
  judge_stillness(books);
  for (Watched& watched : watched_) {
    if (!watched.sensor->last_resort()) continue;
    if (known()) {
      watched.state = {watched.state.name, Standing::kNotAsked, Scope::kUnknown, "a better one answers", {}};
    } else {
      ask(watched, now);
    }
  }
  learn(books);

  Decision decision;
  const SensorState* best = nullptr;
  const SensorState* blind = nullptr;
  std::optional<Bytes> next;
  for (const Watched& watched : watched_) {
    const SensorState& state = watched.state;
    if (trusted(state, Scope::kDevice)) {
      const Bytes free = state.reading->free;
      if (best == nullptr || free < best->reading->free) {
        if (best != nullptr) next = best->reading->free;
        best = &state;
      } else {
        next = next ? std::min(*next, free) : free;
      }
    } else if (state.standing == Standing::kTrusted &&
               (blind == nullptr || state.reading->free < blind->reading->free)) {
      blind = &state;  // of its process, or not known: treated as blind
    }
  }
  if (blind != nullptr) decision.blind = ProcessFree{blind->reading->free};
  if (best != nullptr) {
    decision.free = {best->reading->free};
    decision.prevailed = best->name;
    if (next) decision.below_next = *next - best->reading->free;
    if (best->reading->total != 0) decision.total = best->reading->total;
    decision.line = fmt::format("{} prevails: {} free, {}", best->name, mib(best->reading->free),
                                next ? mib(*decision.below_next) + " below the next" : "no other is device-wide");
  } else if (blind != nullptr) {
    const Converted converted = device_free_from(*decision.blind, books.others);
    decision.free = converted.free;
    decision.prevailed = blind->name;
    decision.line = fmt::format("{} prevails: {} free: {}", blind->name, mib(converted.free.bytes), converted.how);
  } else {
    // What is frozen or absurd says more than nothing only to a reader who knows it: it is in the list.
    std::string why = "no sensor tells what the card has free";
    for (const Watched& watched : watched_) why += fmt::format("; {}: {}", watched.state.name, watched.state.evidence);
    return Error{Errc::kNotFound, why};
  }
  if (decision.blind) {
    decision.bias = static_cast<std::int64_t>(decision.blind->bytes) - static_cast<std::int64_t>(decision.free.bytes);
    decision.line += fmt::format("; {} sees {}, {:+} MiB", blind->name, mib(decision.blind->bytes),
                                 *decision.bias / static_cast<std::int64_t>(kMiB));
  }
  if (best != nullptr && best->reading->reserved && decision.total) {
    const Bytes booked = *best->reading->reserved + decision.free.bytes + books.own + books.others;
    decision.foreign = *decision.total - std::min(*decision.total, booked);
    if (last_foreign_) {
      const std::int64_t grew = -fall(*last_foreign_, decision.foreign);
      if (std::llabs(grew) >= static_cast<std::int64_t>(options_.foreign_step)) {
        report({Change::Kind::kForeignStep, grew, last_bias_, decision.bias});
      }
    }
    last_foreign_ = decision.foreign;
  }
  for (Watched& watched : watched_) {
    watched.last_free.reset();
    if (watched.state.reading) watched.last_free = watched.state.reading->free;
    decision.sensors.push_back(watched.state);
  }
  last_books_ = books;
  last_bias_ = decision.bias;
  looked_ = true;
  if (options_.log) options_.log(decision.line);
  return decision;
}

}  // namespace tidegate::share
