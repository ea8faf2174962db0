#include <csignal>
#include <cstdint>
#include <cstring>

#include <unistd.h>

#include "cli/bus_guard.h"

namespace tidegate::cli {
namespace {

constexpr int kMost = 256;  // shards of one model; further mappings go unguarded
constexpr int kBadInput = 2;

// Read by the handler: plain data that is in place before `used`.
struct Guarded {
  volatile std::sig_atomic_t used;
  std::uintptr_t begin;
  std::uintptr_t end;
  char path[512];
};
Guarded guarded[kMost];

void say(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

extern "C" void on_bus_error(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Guarded& each : guarded) {
    if (each.used == 0 || at < each.begin || at >= each.end) continue;
    char digits[24] = {};
    std::uintptr_t offset = at - each.begin;
    int first = sizeof digits - 1;
    do {
      digits[--first] = static_cast<char>('0' + offset % 10);
      offset /= 10;
    } while (offset > 0);
    say("tidegate: ");
    say(each.path);
    say(": offset ");
    say(digits + first);
    say(": the file ends before here, it was longer when it was opened: truncated meanwhile\n");
    ::_exit(kBadInput);
  }
  std::signal(SIGBUS, SIG_DFL);  // not ours: it comes again
}

}  // namespace

BusGuard::BusGuard(const std::byte* base, Bytes size, const std::string& path) {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  (void)::sigaction(SIGBUS, &action, nullptr);
  for (int i = 0; i < kMost; ++i) {
    Guarded& place = guarded[i];
    if (place.used != 0) continue;
    place.begin = reinterpret_cast<std::uintptr_t>(base);
    place.end = place.begin + size;
    std::strncpy(place.path, path.c_str(), sizeof place.path - 1);
    place.used = 1;
    place_ = i;
    return;
  }
}

BusGuard::~BusGuard() {
  if (place_ >= 0) guarded[place_].used = 0;
}

}  // namespace tidegate::cli
