// Calls of entry points that the simulated card does not have, and what is said once.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "front/front.h"
#include "src/base/at_fork.h"
#include "src/base/mutex.h"
#include "src/base/write_file.h"

namespace tidegate::front {
namespace {

struct Seen {
  base::Mutex mutex;
  std::map<std::string, std::uint64_t> unknown;  // calls by name
  std::set<std::string> said;
};

// Never destroyed: calls may come late. A forked child gets one of its own: the parent's may be locked for ever there,
// and the report is the parent's to write.
std::atomic<Seen*> current{nullptr};
std::atomic<bool> in_child{false};

Seen& seen();

void report() {
  const char* path = std::getenv("TIDEGATE_FRONT_REPORT");
  if (path == nullptr || *path == '\0' || in_child.load()) return;
  const base::Lock lock(seen().mutex);
  const nlohmann::json json{{"not_supported", seen().unknown}};
  if (auto written = base::write_file(path, json.dump(2) + "\n"); !written) {
    std::fprintf(stderr, "tidegate: TIDEGATE_FRONT_REPORT: %s\n", written.error().message.c_str());
  }
}

Seen& seen() {
  static const bool made = [] {
    current.store(new Seen);
    (void)std::atexit(report);
    base::at_fork(nullptr, nullptr, [] {
      current.store(new Seen);
      in_child.store(true);
    });
    return true;
  }();
  (void)made;
  return *current.load();
}

void count(const char* name) {
  const base::Lock lock(seen().mutex);
  ++seen().unknown[name];
}

}  // namespace

void report_at_exit() { (void)seen(); }

cu::Status unknown_cuda(const char* name) {
  count(name);
  return cu::kNotSupported;
}

nvml::Status unknown_nvml(const char* name) {
  count(name);
  return nvml::kNotSupported;
}

void say_once(const char* line) {
  {
    const base::Lock lock(seen().mutex);
    if (!seen().said.insert(line).second) return;
  }
  std::fprintf(stderr, "tidegate: %s\n", line);
}

}  // namespace tidegate::front
