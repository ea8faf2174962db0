#include "sim/profile_wddm.h"

namespace tidegate::sim {

namespace {

Bytes mib(JsonGroup& group, const char* key) {
  return static_cast<Bytes>(group.integer(key, 0, 16 * 1024 * 1024)) * kMiB;
}

base::Nanos milliseconds(JsonGroup& group, const char* key) {
  return static_cast<base::Nanos>(group.number(key, 0, 60'000) * 1e6);
}

void read_budget(JsonGroup group, Bytes vram, vidmm::Parameters& out) {
  group.provenance();
  const double idle = group.number("idle_fraction", 0, 1);
  out.budget_idle = static_cast<Bytes>(static_cast<double>(vram / kMiB) * idle + 0.5) * kMiB;
  out.bias_repartition = mib(group, "bias_repartition_mib");
  out.pressure_drift = mib(group, "pressure_drift_mib");
  out.drift_beyond = group.number("drift_beyond", 0, 1);
  group.done();
}

void read_paging(JsonGroup group, vidmm::Parameters& out) {
  group.provenance();
  const std::string mode = group.text("commit_mode");
  if (mode == "eager") {
    out.commit_mode = vidmm::CommitMode::kEager;
  } else if (mode == "async_rate") {
    out.commit_mode = vidmm::CommitMode::kAsyncRate;
  } else if (mode == "lazy_on_touch") {
    out.commit_mode = vidmm::CommitMode::kLazyOnTouch;
  } else {
    group.complain("commit_mode", R"(must be "eager", "lazy_on_touch" or "async_rate")");
  }
  out.untouched_resident = mib(group, "untouched_resident_mib");
  out.fill_mib_per_s = group.number("fill_mib_per_s", 0, 1e9);
  out.page = static_cast<Bytes>(group.integer("page_kib", 4, 2048)) * kKiB;
  out.page_gb_per_s = group.number("page_gb_per_s", 0.01, 1e5);
  out.map_latency = milliseconds(group, "map_latency_max_ms");
  out.page_in_latency = milliseconds(group, "page_in_latency_max_ms");
  out.reclaim_delay = milliseconds(group, "reclaim_delay_ms");
  out.assume_not_in_use = group.integer("assume_not_in_use", 0, 1) != 0;
  out.synchronous_destroy = group.integer("synchronous_destroy", 0, 1) != 0;
  out.not_ready_probability = group.number("not_ready_probability", 0, 1);
  out.not_ready_window_min = milliseconds(group, "not_ready_window_min_ms");
  out.not_ready_window_max = milliseconds(group, "not_ready_window_max_ms");
  if (out.not_ready_window_max < out.not_ready_window_min) {
    group.complain("not_ready_window_max_ms", "is less than not_ready_window_min_ms");
  }
  group.done();
}

void read_system(JsonGroup group, vidmm::Parameters& out) {
  group.provenance();
  out.ram = mib(group, "ram_mib");
  out.sysmem_fallback = group.integer("sysmem_fallback", 0, 1) != 0;
  const std::string model = group.text("pin_model");
  if (model == "half_ram") {
    out.pin_model = vidmm::PinModel::kHalfRam;
  } else if (model == "vram_coupled") {
    out.pin_model = vidmm::PinModel::kVramCoupled;
  } else if (model == "per_call") {
    out.pin_model = vidmm::PinModel::kPerCall;
  } else {
    group.complain("pin_model", R"(must be "half_ram", "vram_coupled" or "per_call")");
  }
  out.pin_slack = mib(group, "pin_slack_mib");
  out.pin_per_call = mib(group, "pin_per_call_mib");
  out.pin_in_process = mib(group, "pin_in_process_mib");
  out.pin_failure_sticky = group.integer("pin_failure_sticky", 0, 1) != 0;
  out.va_churn_limit = static_cast<std::uint64_t>(group.integer("va_churn_limit", 0, 1e9));
  group.done();
}

}  // namespace

void read_wddm(JsonGroup group, Bytes vram, vidmm::Parameters& parameters) {
  read_budget(group.group("budget"), vram, parameters);
  read_paging(group.group("paging"), parameters);
  read_system(group.group("system"), parameters);
  group.done();
}

}  // namespace tidegate::sim
