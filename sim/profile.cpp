#include "sim/profile.h"

#include <cmath>
#include <optional>

#include "sim/profile_layers.h"
#include "sim/profile_wddm.h"

namespace tidegate::sim {

namespace {

constexpr double kMaxNs = 60e9;  // no single cost of a call is a minute

CallCost read_cost(JsonGroup group) {
  CallCost cost{group.number("base_ns", 0, kMaxNs), group.number("per_mib_ns", 0, kMaxNs)};
  if (group.has("slow_factor")) cost.slow_factor = group.number("slow_factor", 1, 1 / CallCost::kSlowShare);
  group.done();
  return cost;
}

std::optional<std::size_t> function_index(const std::string& name) {
  for (std::size_t i = 0; i < driver::kFunctionCount; ++i) {
    if (name == driver::name_of(static_cast<driver::FunctionId>(i))) return i;
  }
  return std::nullopt;
}

void read_device(JsonGroup group, Profile& profile) {
  group.provenance();
  profile.device_name = group.text("name");
  profile.compute_major = static_cast<int>(group.integer("compute_capability_major", 1, 99));
  profile.compute_minor = static_cast<int>(group.integer("compute_capability_minor", 0, 99));
  profile.multiprocessors = static_cast<int>(group.integer("multiprocessors", 1, 4096));
  profile.driver_version = static_cast<int>(group.integer("cuda_version_x1000", 11000, 99000));
  profile.driver_release = group.text("driver_release");
  group.done();
}

void read_memory(JsonGroup group, Profile& profile) {
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

void read_link(JsonGroup group, Profile& profile) {
  group.provenance();
  profile.h2d_gb_per_s = group.number("h2d_gb_per_s", 0.01, 1e5);
  profile.d2h_gb_per_s = group.number("d2h_gb_per_s", 0.01, 1e5);
  profile.pageable_h2d_gb_per_s = group.number("pageable_h2d_gb_per_s", 0.01, 1e5);
  profile.pageable_d2h_gb_per_s = group.number("pageable_d2h_gb_per_s", 0.01, 1e5);
  profile.copy_latency_ns = group.integer("copy_latency_ns", 0, 1e9);
  group.done();
}

void read_compute(JsonGroup group, Profile& profile) {
  group.provenance();
  profile.kernel_latency_ns = group.integer("kernel_latency_ns", 0, 1e9);
  profile.launch_queue_depth = static_cast<std::size_t>(group.integer("launch_queue_depth", 1, 1 << 20));
  group.done();
}

void read_host_api(JsonGroup group, Profile& profile) {
  group.provenance();
  profile.default_cost = {group.number("default_ns", 0, kMaxNs), 0};
  profile.costs.fill(profile.default_cost);
  JsonGroup calls = group.group("calls");
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

void read_rules(JsonGroup group, Profile& profile) {
  if (!group.json().is_object()) return;
  for (const auto& item : group.json().items()) {
    const bool on = group.flag(item.key());
    if (!profile.rules.set(item.key(), on)) group.complain(item.key(), "is no rule (tidegate sim rules lists them)");
  }
  group.done();
}

void read_faults(JsonGroup group, Profile& profile) {
  profile.out_of_memory_probability = group.number("out_of_memory_probability", 0, 1);
  group.done();
}

Result<Profile> read_profile(const Json& parsed, const std::string& where) {
  std::string complaint;
  Profile profile;
  JsonGroup root(parsed, "", where, complaint);
  if (root.integer("format", 0, 1e6) != 1) root.complain("format", "must be 1");
  profile.name = root.text("name");
  profile.personality = root.text("personality");
  const std::string& personality = profile.personality;
  if (personality != "wddm" && personality != "mcdm" && personality != "linux" && personality != "tcc") {
    root.complain("personality", R"(must be "linux", "wddm", "mcdm" or "tcc")");
  }
  if (root.has("rules")) read_rules(root.group("rules"), profile);
  if (root.has("faults")) read_faults(root.group("faults"), profile);
  read_device(root.group("device"), profile);
  read_memory(root.group("memory"), profile);
  read_link(root.group("link"), profile);
  read_compute(root.group("compute"), profile);
  read_host_api(root.group("host_api"), profile);
  if (profile.managed_by_windows() || root.has("wddm")) read_wddm(root.group("wddm"), profile.total, profile.wddm);
  root.done();
  if (!complaint.empty()) return Error{Errc::kBadFile, complaint};
  return profile;
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
  const Result<Json> parsed = parse_layers(json, where);
  if (!parsed) return parsed.error();
  return read_profile(parsed.value(), where);
}

Result<Profile> load_profile(const std::string& name_or_path, const std::vector<std::string>& changes) {
  const Result<std::string> text = profile_text(name_or_path);
  if (!text) return text.error();
  Result<Json> parsed = parse_layers(text.value(), name_or_path);
  if (!parsed) return parsed.error();
  for (const std::string& assignment : changes) {
    if (Result<void> made = change(parsed.value(), assignment); !made) return made.error();
  }
  return read_profile(parsed.value(), name_or_path);
}

}  // namespace tidegate::sim
