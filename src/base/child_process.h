// Starting a program, its end, and the signals that are meant for it. Linux.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/file_handle.h"
#include "tidegate/result.h"

namespace tidegate::base {

// Signals as something that can be waited for beside other descriptors: SIGCHLD and those that ask a program to end or
// to look anew. Blocked in this thread, and so in threads started later, while it lives; spawned programs get the mask
// as it was.
class SignalFile {
 public:
  SignalFile();
  ~SignalFile();
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;

  const FileHandle& file() const { return file_; }
  struct Signal {
    int number = 0;
    bool from_terminal = false;  // or otherwise from the system, which told the whole process group
  };
  std::optional<Signal> next();  // never waits

 private:
  FileHandle file_;
};

// Runs words[0], looked for in PATH, with the environment of this process but for `changes`. Answers its pid. Errors:
// kNotFound (there is no such program), kIo (it cannot be started), each in one line.
Result<int> spawn_program(const std::vector<std::string>& words, const std::map<std::string, std::string>& changes);

// The same in this process's place: returns only with the error.
Error become_program(const std::vector<std::string>& words, const std::map<std::string, std::string>& changes);

// A child that has ended: its pid and what the shell would call its status. Never waits.
struct Ended {
  int pid = 0;
  int status = 0;  // its exit code, or 128 + the number of the signal that ended it
};
std::optional<Ended> next_ended();

void send_signal(int pid, int signal);

}  // namespace tidegate::base
