// `tidegate probe`: what this machine's readings mean, measured with a second process that takes memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/raw_card.h"
#include "src/share/card_sensors.h"

namespace tidegate::cli {

// What was read while the helper held so much.
struct ProbeRow {
  bool beside = false;  // this process had a context too; else the helper was alone
  Way way = Way::kAlloc;
  bool touched = false;
  Bytes held = 0;
  Bytes holder_free = 0;               // the helper's own cuMemGetInfo
  std::map<std::string, Bytes> reads;  // by sensor: what this process read
};

struct ProbeSensor {
  std::string name;
  Scope scope = Scope::kUnknown;
  std::string evidence;
  std::optional<share::Reading> idle;
};

struct ProbeCost {
  std::string what;
  Bytes bytes = 0;
  double value = 0;  // microseconds, or 10^9 bytes per second
};

struct ProbeRecord {
  std::string card;
  std::string uuid;
  Bytes total = 0;
  bool simulated = false;
  share::ContextCost context;
  std::optional<Bytes> reserve;  // the driver's own
  std::vector<ProbeSensor> sensors;
  std::vector<ProbeRow> rows;
  std::vector<ProbeCost> calls;   // medians
  std::vector<ProbeCost> copies;  // medians
  Bytes pinned_held = 0;          // page-locked memory that could be had
  bool pinned_refused = false;    // more was refused; else it was not tried
  std::vector<std::string> notes;
};

// `sizes`: what the helper takes, in this order; each at most half of what is free then unless the card is simulated.
// `note`: progress, one line at a time.
Result<ProbeRecord> run_probe(int ordinal, const std::vector<Bytes>& sizes,
                              const std::function<void(const std::string&)>& note);

// The scope that a reading shows: it fell by `fell` when another process had taken and touched `taken`.
Scope scope_shown(std::int64_t fell, Bytes taken);

std::string probe_json(const ProbeRecord& record);
std::string probe_table(const ProbeRecord& record);

// The helper: carries out lines from stdin and answers each in one line.
int serve_probe(int ordinal);

}  // namespace tidegate::cli
