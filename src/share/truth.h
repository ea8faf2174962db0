// The truth about a card's memory: which of several sensors is believed, and why.
//
// Errors are one-sided (I6): of device-wide readings that can be trusted the lowest prevails. A sensor that is missing,
// fails, is frozen or absurd is ranked down; where no device-wide reading is left, the blind one less what other seats
// have booked is taken. Each decision says in one line which sensor prevailed and by how much.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/share/blindness.h"
#include "src/share/sensor.h"

namespace tidegate::share {

// What the seats have booked: touched bytes, contexts included.
struct Books {
  Bytes own = 0;
  Bytes others = 0;  // all other seats
};

// The one conversion between the two types (I5): what others have booked is taken off. A DeviceFree has no such
// function, so that nothing is corrected twice.
struct Converted {
  DeviceFree free;
  std::string how;
};
Converted device_free_from(ProcessFree blind, Bytes booked_by_others);

enum class Standing : std::uint8_t { kTrusted, kMissing, kFailing, kFrozen, kAbsurd, kNotAsked };
const char* name_of(Standing standing);  // "trusted", "missing", ...

// A sensor as the last look found it.
struct SensorState {
  const char* name = "";
  Standing standing = Standing::kNotAsked;
  Scope scope = Scope::kUnknown;
  std::string evidence;            // of the scope, or why it is ranked down
  std::optional<Reading> reading;  // none: it answered none
};

struct Decision {
  DeviceFree free;
  const char* prevailed = "";  // a sensor's name
  // How much less than the next trusted device-wide reading says; none: there is no other.
  std::optional<Bytes> below_next;
  std::optional<Bytes> total;        // as the prevailing sensor tells it
  std::optional<ProcessFree> blind;  // where a reading of this process alone was had
  std::optional<std::int64_t> bias;  // blind - true: what a host that believes the blind number over-reports
  Bytes foreign = 0;                 // total less reserve, free and all books; 0 where the reserve is not known
  std::string line;
  std::vector<SensorState> sensors;
};

// Something that makes decisions in flight stale.
struct Change {
  enum class Kind : std::uint8_t { kRepartition, kForeignStep };
  Kind kind = Kind::kRepartition;
  std::int64_t by = 0;  // repartition: what the blind reading rose by without cause; foreign: what it grew by
  std::optional<std::int64_t> bias_before;
  std::optional<std::int64_t> bias_after;
};

struct TruthOptions {
  Prior prior;                                   // about sensors whose scope is assumed
  Bytes card_total = 0;                          // cuDeviceTotalMem, to know absurd totals by; 0: not known
  Bytes foreign_step = 256 * kMiB;               // a foreign change of at least this is reported
  base::Nanos retry_after = base::kSecond;       // a failed sensor is asked again after this, then twice it, ...
  std::function<void(const std::string&)> log;   // each decision's line
  std::function<void(const Change&)> on_change;  // called from look()
};

// look() is for one thread at a time (the governor's task); generation() for any.
class Truth {
 public:
  Truth(std::vector<std::unique_ptr<Sensor>> sensors, TruthOptions options);

  // Reads what has to be read. Errors: kNotFound, no sensor says anything at all.
  Result<Decision> look(const Books& books, base::Nanos now);

  // Counts changes: who noted it before a decision and finds another number after it decides anew.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Watched {
    std::unique_ptr<Sensor> sensor;
    SensorState state;
    std::optional<Blindness> blindness;
    std::optional<Bytes> last_free;
    std::int64_t missed = 0;  // what moved elsewhere since this reading last did
    base::Nanos retry_at = 0;
    base::Nanos pause = 0;
  };
  void ask(Watched& watched, base::Nanos now);
  void judge_stillness(const Books& books);
  void learn(const Books& books);
  void report(Change change);

  std::vector<Watched> watched_;
  const TruthOptions options_;
  std::atomic<std::uint64_t> generation_{0};
  bool looked_ = false;
  Books last_books_;
  std::optional<Bytes> last_true_;
  std::optional<std::int64_t> last_bias_;
  std::optional<Bytes> last_foreign_;
};

}  // namespace tidegate::share
