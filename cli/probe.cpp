#include "cli/probe.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/probe_measure.h"
#include "cli/quantities.h"
#include "src/base/piped_program.h"

namespace tidegate::cli {
namespace {

constexpr base::Nanos kPatience = 120 * base::kSecond;  // of one step of the helper, on the wall's clock
constexpr long long kSettles = 1'000'000'000;           // given memory is back within a second on the card's clock
constexpr Bytes kPinStep = 512 * kMiB;
constexpr Bytes kMostPinned = 4 * kGiB;

// A second process that knows nothing of Tidegate.
class Holder {
 public:
  Result<void> start(int ordinal) {
    auto started =
        base::PipedProgram::start({base::this_program(), "probe", "--serve", "--card", std::to_string(ordinal)});
    if (!started) return started.error();
    program_ = std::move(started).value();
    return tell("open");
  }
  Result<void> tell(const std::string& what) {
    auto answer = ask(what);
    if (!answer) return answer.error();
    if (answer.value() == "ok") return {};
    return Error{Errc::kDriver, "the helper: " + what + ": " + answer.value()};
  }
  Result<Bytes> free_bytes() {
    auto answer = ask("free");
    if (!answer) return answer.error();
    char* end = nullptr;
    const unsigned long long free = std::strtoull(answer.value().c_str(), &end, 10);
    if (end == answer.value().c_str() || *end != '\0') return Error{Errc::kDriver, "the helper: " + answer.value()};
    return Bytes{free};
  }

 private:
  Result<std::string> ask(const std::string& what) {
    if (!program_->write_line(what)) return Error{Errc::kClosed, "the helper has ended"};
    auto answer = program_->read_line(kPatience);
    if (!answer) return Error{answer.error().code, "the helper: " + what + ": " + answer.error().message};
    return answer;
  }
  std::unique_ptr<base::PipedProgram> program_;
};

class Probe {
 public:
  Probe(int ordinal, const std::vector<Bytes>& sizes, const std::function<void(const std::string&)>& note)
      : ordinal_(ordinal), sizes_(sizes), note_(note) {}

  Result<ProbeRecord> run() {
    if (auto done = open(); !done) return done.error();
    note_("a second process takes memory, this one looks on without a context");
    if (auto done = holder_.start(ordinal_); !done) return done.error();
    if (auto done = rows(false, Way::kAlloc, false); !done) return done.error();
    if (auto done = enter(); !done) return done.error();
    for (const Way way : {Way::kAlloc, Way::kVmm}) {
      for (const bool touched : {false, true}) {
        if (auto done = rows(true, way, touched); !done) return done.error();
      }
    }
    classify();
    note_("costs of calls and copies");
    if (auto done = measure_calls(own_, record_.calls); !done) return done.error();
    if (auto done = measure_copies(own_, record_.copies); !done) return done.error();
    pin();
    return std::move(record_);
  }

 private:
  Result<void> open() {
    if (auto loaded = own_.load(ordinal_); !loaded) return loaded;
    auto card = share::open_card_sensors(own_.driver(), ordinal_);
    if (!card) return card.error();
    card_ = std::move(card).value();
    record_.card = card_.name;
    record_.uuid = share::uuid_text(card_.uuid);
    record_.total = card_.total;
    record_.simulated = driver::simulated_card_time() >= 0;
    for (const auto& sensor : card_.sensors) record_.sensors.push_back({sensor->name(), Scope::kUnknown, "", {}});
    return {};
  }

  // Makes this process's context, and measures what it takes.
  Result<void> enter() {
    note_("this process makes a context, which under Windows re-partitions budgets");
    const auto before = device_free();
    if (auto entered = own_.enter(); !entered) return entered;
    const auto after = device_free();
    if (!before || !after)
      return Error{Errc::kNotFound, "no sensor that counts all processes: " + before.error().message};
    std::optional<Bytes> charged;
    const auto processes = share::processes_on(card_);
    if (processes) {
      for (const auto& process : processes.value()) {
        if (process.pid == static_cast<unsigned>(base::process_id())) charged = process.bytes;
      }
    }
    record_.context = share::context_cost(before.value(), after.value(), charged, "NVML");
    return {};
  }

  Result<DeviceFree> device_free() {
    Error why{Errc::kNotFound, "none is there"};
    for (const auto& sensor : card_.sensors) {
      auto read = sensor->read();
      if (read && read.value().scope == Scope::kDevice && !read.value().assumed) return read.value().device_free();
      if (!read) why = read.error();
    }
    return why;
  }

  Result<void> rows(bool beside, Way way, bool touched) {
    if (auto done = row(beside, way, touched, 0); !done) return done;
    Bytes held = 0;
    for (const Bytes wanted : sizes_) {
      auto free = holder_.free_bytes();
      if (!free) return free.error();
      Bytes size = wanted;
      if (!record_.simulated) size = std::min(size, round_down((free.value() + held) / 2, 2 * kMiB));
      if (size <= held) continue;
      note_(fmt::format("the helper holds {} by {}, {}", format_size(size), way == Way::kAlloc ? "cuMemAlloc" : "VMM",
                        touched ? "touched" : "untouched"));
      const std::string what = (way == Way::kAlloc ? "alloc " : "vmm ") + std::to_string(size - held);
      if (auto done = holder_.tell(what); !done) {
        record_.notes.push_back(done.error().message);
        break;
      }
      held = size;
      if (touched) {
        if (auto done = holder_.tell("touch"); !done) return done;
      }
      if (auto done = row(beside, way, touched, held); !done) return done;
    }
    return give_back();
  }

  Result<void> row(bool beside, Way way, bool touched, Bytes held) {
    ProbeRow row{beside, way, touched, held, 0, {}};
    auto free = holder_.free_bytes();
    if (!free) return free.error();
    row.holder_free = free.value();
    for (std::size_t i = 0; i < card_.sensors.size(); ++i) {
      auto read = card_.sensors[i]->read();
      ProbeSensor& sensor = record_.sensors[i];
      if (!read) {
        if (beside || sensor.evidence.empty()) sensor.evidence = read.error().message;
        continue;
      }
      row.reads[sensor.name] = read.value().free;
      if (!beside || held != 0 || sensor.idle) continue;
      sensor.idle = read.value();
      if (read.value().reserved) record_.reserve = read.value().reserved;
    }
    record_.rows.push_back(std::move(row));
    return {};
  }

  // What the helper gives back may come late (W-27): until then the next rows would be too low.
  Result<void> give_back() {
    const auto before = device_free();
    if (auto done = holder_.tell("give"); !done) return done;
    if (!before) return {};
    const long long until = time_on_card() + kSettles;
    Bytes last = before.value().bytes;
    for (int same = 0; same < 4000 && time_on_card() < until;) {
      const auto now = device_free();
      if (!now) break;
      same = now.value().bytes == last ? same + 1 : 0;
      last = now.value().bytes;
    }
    return {};
  }

  void classify() {
    for (ProbeSensor& sensor : record_.sensors) {
      if (!sensor.idle) continue;
      const Bytes idle = sensor.idle->free;
      const ProbeRow* told = nullptr;
      for (const ProbeRow& row : record_.rows) {
        if (row.beside && row.touched && row.held > 0 && row.reads.count(sensor.name) != 0 &&
            (told == nullptr || row.held > told->held)) {
          told = &row;
        }
      }
      if (told == nullptr) continue;
      const auto fell = static_cast<std::int64_t>(idle) - static_cast<std::int64_t>(told->reads.at(sensor.name));
      sensor.scope = scope_shown(fell, told->held);
      sensor.evidence = fmt::format("fell by {} MiB when another process took and touched {} MiB",
                                    fell / static_cast<std::int64_t>(kMiB), told->held / kMiB);
    }
  }

  // In the helper: a refused pin spoils later ones of its process under Windows (P23).
  void pin() {
    note_("page-locked memory, step by step, in the second process");
    const Bytes most = std::min(kMostPinned, base::available_host_memory().available / 4);
    while (record_.pinned_held + kPinStep <= most) {
      if (auto done = holder_.tell("pin " + std::to_string(kPinStep)); !done) {
        record_.pinned_refused = true;
        record_.notes.push_back(done.error().message);
        break;
      }
      record_.pinned_held += kPinStep;
    }
  }

  const int ordinal_;
  const std::vector<Bytes> sizes_;
  const std::function<void(const std::string&)>& note_;
  RawCard own_;
  share::CardSensors card_;
  Holder holder_;
  ProbeRecord record_;
};

}  // namespace

Scope scope_shown(std::int64_t fell, Bytes taken) {
  const double part = taken == 0 ? 0.5 : static_cast<double>(fell) / static_cast<double>(taken);
  if (part >= 0.9 && part <= 1.1) return Scope::kDevice;
  return part > -0.1 && part < 0.1 ? Scope::kProcess : Scope::kUnknown;
}

Result<ProbeRecord> run_probe(int ordinal, const std::vector<Bytes>& sizes,
                              const std::function<void(const std::string&)>& note) {
  return Probe(ordinal, sizes, note).run();
}

}  // namespace tidegate::cli
