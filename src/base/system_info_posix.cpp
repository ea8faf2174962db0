#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include <sys/utsname.h>
#include <unistd.h>

#include "src/base/system_info.h"

namespace tidegate::base {
namespace {

std::optional<Bytes> read_number(const std::string& path) {
  std::ifstream file(path);
  Bytes value = 0;
  if (!(file >> value)) return std::nullopt;  // missing, or "max"
  return value;
}

// The value of "<key> <number>" in a file of such lines.
std::optional<Bytes> read_keyed(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    Bytes value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

void lower(HostMemory& memory, Bytes available, const char* source) {
  if (memory.source.empty() || available < memory.available) memory = {available, source};
}

// Usage counts the page cache, which goes when asked for; the inactive part is taken as free.
void apply_group(HostMemory& memory, const std::string& folder, const char* limit_file, const char* usage_file,
                 const char* inactive_key, const char* source) {
  const auto limit = read_number(folder + limit_file);
  const auto usage = read_number(folder + usage_file);
  if (!limit || !usage || *limit > std::numeric_limits<Bytes>::max() / 4) return;
  const Bytes cache = read_keyed(folder + "/memory.stat", inactive_key).value_or(0);
  const Bytes used = *usage - std::min(cache, *usage);
  lower(memory, *limit - std::min(used, *limit), source);
}

// The process's own groups, each with those above it, as "<number>:<controllers>:<path>" lines name them.
void apply_groups(HostMemory& memory) {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers.find("memory") == std::string::npos) continue;
    for (std::string path = line.substr(second + 1);; path.erase(path.find_last_of('/'))) {
      if (path == "/") path.clear();
      if (unified) {
        apply_group(memory, "/sys/fs/cgroup" + path, "/memory.max", "/memory.current", "inactive_file",
                    "cgroup memory.max");
      } else {
        apply_group(memory, "/sys/fs/cgroup/memory" + path, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                    "total_inactive_file", "cgroup memory.limit_in_bytes");
      }
      if (path.find('/') == std::string::npos) break;
    }
  }
}

}  // namespace

HostMemory available_host_memory() {
  HostMemory memory;
  if (const auto kib = read_keyed("/proc/meminfo", "MemAvailable:")) lower(memory, *kib * kKiB, "MemAvailable");
  apply_groups(memory);
  return memory;
}

Bytes peak_resident_bytes() {
  const auto kib = read_keyed("/proc/self/status", "VmHWM:");
  return kib ? *kib * kKiB : 0;
}

std::string kernel_release() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : "";
}

int process_id() { return ::getpid(); }

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

}  // namespace tidegate::base
