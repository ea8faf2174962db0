// Plays a trace: processes that come, take memory of the card, look at what is free, and go. For tests/golden, and for
// trying any other trace by hand:
//
//   tidegate sim exec --card rtx4060ti-16g-wddm -- golden_processes "a open" "b open" "b grow 2560" "a free" "a nvml"
//
// Each argument is a step, "WHO WHAT [NUMBER...]"; WHO begins with its first step and ends with the program at the
// latest. It knows nothing of Tidegate: its driver is whatever libcuda.so.1 and libnvidia-ml.so.1 are found.
//   open, close       a context: the device's primary one
//   free, nvml        prints MiB: cuMemGetInfo's free, NVML's
//   take MIB          cuMemAlloc, not touched          map MIB   the same by cuMemCreate, mapped
//   grow MIB          cuMemAlloc in parts of at most 1 GiB, written
//   fill MIB          grows until NVML says that so much is free
//   give              frees what came last             pass      writes all it has, prints 10^9 bytes per second
//   busy TIMES US     looks at its memory now and then, with so much work in between
//   churn MIB...      a pager that maps and releases as it goes, through models of these sizes (churn.h)
//   exit, kill        the process ends, in order or not
// A step that ends in "&" is not waited for until the next step of the same process, or the end. A refused call is
// printed as "refused STATUS".
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/programs/golden_process.h"

namespace {

// A process that carries out steps, seen by the one that hands them out.
struct Actor {
  pid_t pid = 0;
  std::FILE* to = nullptr;
  std::FILE* from = nullptr;
  bool owes = false;  // an answer
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "golden_processes: %s\n", what.c_str());
  std::exit(2);
}

Actor start(const std::string& name, const std::map<std::string, Actor>& others) {
  int down[2];
  int up[2];
  if (::pipe(down) != 0 || ::pipe(up) != 0) fail("no pipe");
  Actor actor;
  actor.pid = ::fork();
  if (actor.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(down[1]);
    ::close(up[0]);
    // Else the others would not see their pipes' end.
    for (const auto& [who, other] : others) {
      ::close(::fileno(other.to));
      ::close(::fileno(other.from));
    }
    const int status = tidegate::golden::serve(name, ::fdopen(down[0], "r"), ::fdopen(up[1], "w"));
    std::_Exit(status);
  }
  ::close(down[0]);
  ::close(up[1]);
  actor.to = ::fdopen(down[1], "w");
  actor.from = ::fdopen(up[0], "r");
  return actor;
}

void hear(Actor& actor) {
  if (!actor.owes) return;
  actor.owes = false;
  char line[256];
  if (std::fgets(line, sizeof line, actor.from) == nullptr) fail("a process ended before its time");
  if (line[0] != '\n') std::fputs(line, stdout);
  std::fflush(stdout);
}

void end(Actor& actor, bool killed) {
  if (killed) ::kill(actor.pid, SIGKILL);
  std::fclose(actor.to);
  std::fclose(actor.from);
  int status = 0;
  ::waitpid(actor.pid, &status, 0);
}

}  // namespace

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  std::map<std::string, Actor> actors;
  for (int i = 1; i < count; ++i) {
    std::istringstream step(words[i]);
    std::string who;
    std::string what;
    if (!(step >> who >> what)) fail(std::string("no step: ") + words[i]);
    std::string rest;
    std::getline(step, rest);
    const bool waits = rest.empty() || rest.back() != '&';
    if (!waits) rest.pop_back();
    auto found = actors.find(who);
    if (found == actors.end()) found = actors.emplace(who, start(who, actors)).first;
    Actor& actor = found->second;
    if (what == "kill") {
      end(actor, true);
      actors.erase(found);
      continue;
    }
    hear(actor);
    if (what == "exit") {
      end(actor, false);
      actors.erase(found);
      continue;
    }
    std::fprintf(actor.to, "%s%s\n", what.c_str(), rest.c_str());
    std::fflush(actor.to);
    actor.owes = true;
    if (waits) hear(actor);
  }
  for (auto& [who, actor] : actors) hear(actor);
  for (auto& [who, actor] : actors) end(actor, false);
  return 0;
}
