#include "cli/progress.h"

#include <cstdio>

#include "src/base/system_info.h"

namespace tidegate::cli {
namespace {

constexpr base::Nanos kTerminalInterval = 100 * base::kMillisecond;
constexpr base::Nanos kLogInterval = 5 * base::kSecond;
constexpr unsigned kAsksPerLook = 64;  // a look at the clock costs more than the question

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(base::is_terminal(stderr)) {
  next_ = wall_.now() + (terminal_ ? 0 : kLogInterval);
}

bool Progress::due() {
  if (quiet_ || ++asked_ % kAsksPerLook != 0) return false;
  return wall_.now() >= next_;
}

void Progress::show(const std::string& line) {
  if (quiet_) return;
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
    line_open_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  next_ = wall_.now() + (terminal_ ? kTerminalInterval : kLogInterval);
}

void Progress::note(const std::string& line) {
  if (quiet_) return;
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Progress::clear() {
  if (!line_open_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  line_open_ = false;
}

}  // namespace tidegate::cli
