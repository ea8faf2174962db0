#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file_handle.h"
#include "src/base/process_tree.h"

namespace tidegate::base {

namespace {

std::string read_small(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file) return text;
  char part[4096];
  for (;;) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got <= 0) return text;
    text.append(part, static_cast<std::size_t>(got));
  }
}

// The fields of a `stat` file behind the command's name, which may itself hold anything.
struct Stat {
  char state = 0;  // 0: no such thread
  int parent = 0;
  std::uint64_t start = 0;  // in clock ticks since the system started
};

Stat stat_in(const std::string& folder) {
  const std::string text = read_small(folder + "/stat");
  const std::size_t name_end = text.rfind(')');
  Stat stat;
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return stat;
  const char* at = text.c_str() + name_end + 2;
  stat.state = *at;
  stat.parent = std::atoi(at + 1);
  constexpr int kStartField = 19;  // counted from the state
  for (int field = 0; field < kStartField && at != nullptr; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  if (at != nullptr) stat.start = std::strtoull(at, nullptr, 10);
  return stat;
}

Stat stat_of(int pid) { return stat_in("/proc/" + std::to_string(pid)); }

// One thread as a look found it. Equal twice: it has not run in between.
struct Sleeper {
  int thread = 0;
  char state = 0;
  std::uint64_t switches = 0;
  bool operator==(const Sleeper&) const = default;
};

std::uint64_t number_after(const std::string& text, const char* key) {
  const std::size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + std::strlen(key), nullptr, 10);
}

Sleeper look_at(const std::string& folder, int thread) {
  const std::string text = read_small(folder + "/status");
  Sleeper sleeper{thread, 'X', 0};
  const std::size_t at = text.find("\nState:\t");
  if (at == std::string::npos) return sleeper;
  sleeper.state = text[at + std::strlen("\nState:\t")];
  sleeper.switches =
      number_after(text, "\nvoluntary_ctxt_switches:") + number_after(text, "\nnonvoluntary_ctxt_switches:");
  return sleeper;
}

std::vector<int> threads_of(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  constexpr nlink_t kLinksOfOne = 3;  // itself, its parent, one thread
  if (status.st_nlink == kLinksOfOne) return {pid};
  std::vector<int> threads;
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) return threads;
  while (const dirent* entry = ::readdir(listing)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (entry->d_name[0] != '.') threads.push_back(std::atoi(entry->d_name));
  }
  ::closedir(listing);
  return threads;
}

void add_children(const std::string& folder, std::vector<int>& pids) {
  const std::string text = read_small(folder + "/children");
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    pids.push_back(static_cast<int>(pid));
    at = *end == ' ' ? end + 1 : end;
  }
}

bool sleeps(char state) { return std::strchr("STtZX", state) != nullptr; }

// One look at all descendants: false: somebody runs.
bool look(const std::function<bool(int, int)>& waits_for_us, std::vector<Sleeper>& sleepers) {
  std::vector<int> pids;
  const std::string self = std::to_string(::getpid());
  add_children("/proc/" + self + "/task/" + self, pids);
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const int pid = pids[i];
    for (const int thread : threads_of(pid)) {
      const std::string folder = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread);
      if (waits_for_us(pid, thread)) {
        // Awake: it has not fallen asleep yet, or its process is ending and the news of that is on its way.
        const char state = stat_in(folder).state;
        if (state != 0 && !sleeps(state)) return false;
      } else {
        sleepers.push_back(look_at(folder, thread));
        if (!sleeps(sleepers.back().state)) return false;
      }
      add_children(folder, pids);
    }
  }
  return true;
}

}  // namespace

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return Error{Errc::kIo, std::string("prctl(PR_SET_CHILD_SUBREAPER): ") + std::strerror(errno)};
  }
  const std::string self = std::to_string(::getpid());
  if (::access(("/proc/" + self + "/task/" + self + "/children").c_str(), R_OK) != 0) {
    return Error{Errc::kIo, "/proc/PID/task/TID/children cannot be read; the kernel needs CONFIG_PROC_CHILDREN"};
  }
  return {};
}

Lineage lineage_of(int pid) {
  Lineage line;
  constexpr int kDeepest = 256;
  const int self = ::getpid();
  for (int depth = 0; depth < kDeepest && pid > 1 && pid != self; ++depth) {
    const Stat stat = stat_of(pid);
    if (stat.state == 0) break;
    line.insert(line.begin(), {stat.start, static_cast<std::uint64_t>(pid)});
    pid = stat.parent;
  }
  return line;
}

std::string name_of_process(int pid) {
  std::string name = read_small("/proc/" + std::to_string(pid) + "/comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

bool descendants_sleep(const std::function<bool(int pid, int thread)>& waits_for_us) {
  std::vector<Sleeper> first;
  if (!look(waits_for_us, first)) return false;
  // Those whom nobody but us can wake need no second look.
  if (first.empty()) return true;
  std::vector<Sleeper> second;
  return look(waits_for_us, second) && first == second;
}

}  // namespace tidegate::base
