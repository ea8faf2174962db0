// Starts another program from a test and takes in what it says.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#if !defined(_WIN32)
#include <sys/wait.h>
#endif

namespace tidegate::test {

struct CommandOutcome {
  int code = -1;  // its exit code, or 128 + the signal that ended it
  std::string out;
};

// Through the shell; the caller redirects stderr where it wants it.
inline CommandOutcome run_command(const std::string& command) {
  CommandOutcome outcome;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.out.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace tidegate::test
