#include "sim/profile.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "sim/embedded_profiles.h"

namespace tidegate::sim {

namespace {

using Json = nlohmann::json;

// Reads one JSON object strictly: remembers the first complaint, and in the end every key must have been asked for.
class Group {
 public:
  Group(const Json& json, std::string path, std::string where, std::string& complaint)
      : json_(json), path_(std::move(path)), where_(std::move(where)), complaint_(complaint) {
    if (!json_.is_object()) complain("", "must be an object");
  }

  double number(const std::string& key, double low, double high) {
    const Json* value = get(key);
    if (value == nullptr) return 0;
    if (!value->is_number()) return complain(key, "must be a number"), 0;
    const double number = value->get<double>();
    if (!(number >= low && number <= high)) {
      return complain(key, "is " + value->dump() + ", outside " + Json(low).dump() + " ... " + Json(high).dump()), 0;
    }
    return number;
  }

  std::int64_t integer(const std::string& key, double low, double high) {
    const Json* value = get(key);
    if (value == nullptr) return 0;
    if (!value->is_number_integer()) return complain(key, "must be an integer"), 0;
    return static_cast<std::int64_t>(number(key, low, high));
  }

  std::string text(const std::string& key) {
    const Json* value = get(key);
    if (value == nullptr) return {};
    if (!value->is_string() || value->get<std::string>().empty()) return complain(key, "must be a text"), std::string();
    return value->get<std::string>();
  }

  Group group(const std::string& key) {
    static const Json empty = Json::object();
    const Json* value = get(key);
    return Group(value == nullptr ? empty : *value, path_ + key + ".", where_, complaint_);
  }

  // "source" and "assumed" are for readers; every assumption must name a key of its group.
  void provenance() {
    text("source");
    if (!json_.is_object() || !json_.contains("assumed")) return;
    known_.insert("assumed");
    const Json& assumed = json_["assumed"];
    if (!assumed.is_array()) return complain("assumed", "must be a list of keys");
    for (const Json& key : assumed) {
      if (!key.is_string()) return complain("assumed", "must be a list of keys");
      if (!json_.contains(key.get<std::string>())) complain("assumed", "names " + key.dump() + ", which is not there");
    }
  }

  const Json& json() const { return json_; }
  void know(const std::string& key) { known_.insert(key); }

  void done() {
    if (!json_.is_object()) return;
    for (const auto& item : json_.items()) {
      if (known_.count(item.key()) == 0) complain(item.key(), "is not a key of a profile");
    }
  }

  void complain(const std::string& key, const std::string& what) {
    if (!complaint_.empty()) return;
    std::string name = path_ + key;
    if (!name.empty() && name.back() == '.') name.pop_back();
    complaint_ = where_ + ": " + (name.empty() ? "the profile" : "\"" + name + "\"") + " " + what;
  }

 private:
  const Json* get(const std::string& key) {
    known_.insert(key);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    if (found != json_.end()) return &*found;
    complain(key, "is missing");
    return nullptr;
  }

  const Json& json_;
  std::string path_;
  std::string where_;
  std::string& complaint_;
  std::set<std::string> known_;
};

constexpr double kMaxNs = 60e9;  // no single cost of a call is a minute

CallCost read_cost(Group group) {
  CallCost cost{group.number("base_ns", 0, kMaxNs), group.number("per_mib_ns", 0, kMaxNs)};
  group.done();
  return cost;
}

std::optional<std::size_t> function_index(const std::string& name) {
  for (std::size_t i = 0; i < driver::kFunctionCount; ++i) {
    if (name == driver::name_of(static_cast<driver::FunctionId>(i))) return i;
  }
  return std::nullopt;
}

void read_device(Group group, Profile& profile) {
  group.provenance();
  profile.device_name = group.text("name");
  profile.compute_major = static_cast<int>(group.integer("compute_capability_major", 1, 99));
  profile.compute_minor = static_cast<int>(group.integer("compute_capability_minor", 0, 99));
  profile.multiprocessors = static_cast<int>(group.integer("multiprocessors", 1, 4096));
  profile.driver_version = static_cast<int>(group.integer("cuda_version_x1000", 11000, 99000));
  profile.driver_release = group.text("driver_release");
  group.done();
}

void read_memory(Group group, Profile& profile) {
  group.provenance();
  profile.total = static_cast<Bytes>(group.integer("total_mib", 64, 16 * 1024 * 1024)) * kMiB;
  profile.reserved = static_cast<Bytes>(group.integer("reserved_mib", 0, 1024 * 1024)) * kMiB;
  profile.context = static_cast<Bytes>(group.integer("context_mib", 0, 65536)) * kMiB;
  profile.granularity = static_cast<Bytes>(group.integer("granularity_kib", 4, 1024 * 1024)) * kKiB;
  profile.vram_gb_per_s = group.number("bandwidth_gb_per_s", 0.1, 1e6);
  if (profile.reserved + profile.context >= profile.total)
    group.complain("reserved_mib", "and a context leave nothing of total_mib");
  if (profile.granularity % 4096 != 0 || (profile.granularity & (profile.granularity - 1)) != 0) {
    group.complain("granularity_kib", "must be a power of two");
  }
  group.done();
}

void read_link(Group group, Profile& profile) {
  group.provenance();
  profile.h2d_gb_per_s = group.number("h2d_gb_per_s", 0.01, 1e5);
  profile.d2h_gb_per_s = group.number("d2h_gb_per_s", 0.01, 1e5);
  profile.pageable_h2d_gb_per_s = group.number("pageable_h2d_gb_per_s", 0.01, 1e5);
  profile.pageable_d2h_gb_per_s = group.number("pageable_d2h_gb_per_s", 0.01, 1e5);
  profile.copy_latency_ns = group.integer("copy_latency_ns", 0, 1e9);
  group.done();
}

void read_compute(Group group, Profile& profile) {
  group.provenance();
  profile.kernel_latency_ns = group.integer("kernel_latency_ns", 0, 1e9);
  profile.launch_queue_depth = static_cast<std::size_t>(group.integer("launch_queue_depth", 1, 1 << 20));
  group.done();
}

void read_host_api(Group group, Profile& profile) {
  group.provenance();
  profile.default_cost = {group.number("default_ns", 0, kMaxNs), 0};
  profile.costs.fill(profile.default_cost);
  Group calls = group.group("calls");
  if (calls.json().is_object()) {
    for (const auto& item : calls.json().items()) {
      const auto index = function_index(item.key());
      if (!index) {
        calls.complain(item.key(), "is no function of the driver's table");
        continue;
      }
      profile.costs[*index] = read_cost(calls.group(item.key()));
    }
  }
  group.done();
}

}  // namespace

base::Nanos CallCost::of(Bytes bytes, std::uint64_t times) const {
  const double mib = static_cast<double>(bytes) / static_cast<double>(kMiB);
  return std::llround(base_ns * static_cast<double>(times) + per_mib_ns * mib);
}

base::Nanos Profile::transfer_ns(Bytes bytes, double gb_per_s) {
  return std::llround(static_cast<double>(bytes) / gb_per_s);
}

Result<Profile> parse_profile(const std::string& json, const std::string& where) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_discarded()) return Error{Errc::kBadFile, where + ": is not valid JSON"};
  std::string complaint;
  Profile profile;
  Group root(parsed, "", where, complaint);
  if (root.integer("format", 0, 1e6) != 1) root.complain("format", "must be 1");
  profile.name = root.text("name");
  profile.personality = root.text("personality");
  if (profile.personality != "linux") root.complain("personality", "must be \"linux\"");
  read_device(root.group("device"), profile);
  read_memory(root.group("memory"), profile);
  read_link(root.group("link"), profile);
  read_compute(root.group("compute"), profile);
  read_host_api(root.group("host_api"), profile);
  root.done();
  if (!complaint.empty()) return Error{Errc::kBadFile, complaint};
  return profile;
}

Result<Profile> load_profile(const std::string& name_or_path) {
  std::string known;
  for (const EmbeddedProfile& embedded : embedded_profiles()) {
    if (embedded.name == name_or_path) return parse_profile(std::string(embedded.json), name_or_path + ".json");
    known += (known.empty() ? "" : ", ") + std::string(embedded.name);
  }
  std::ifstream file(name_or_path, std::ios::binary);
  if (!file) {
    return Error{Errc::kNotFound, name_or_path + ": neither a file nor a card profile (profiles: " + known + ")"};
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return Error{Errc::kIo, name_or_path + ": cannot be read"};
  return parse_profile(text, name_or_path);
}

}  // namespace tidegate::sim
