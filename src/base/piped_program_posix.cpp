#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/file_handle.h"
#include "src/base/piped_program.h"

extern char** environ;  // NOLINT: POSIX's own

namespace tidegate::base {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestOutput = std::size_t{1} << 20;  // of a program that goes on and on
constexpr auto kPatienceAtEnd = kSecond;

// A socket rather than a pipe: writing to one whose other end is gone can be told not to raise SIGPIPE.
class Pipe {
 public:
  bool open() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    read = FileHandle(ends[0]);
    write = FileHandle(ends[1]);
    return true;
  }
  FileHandle read;
  FileHandle write;
};

class PosixProgram final : public PipedProgram {
 public:
  PosixProgram(pid_t pid, FileHandle to, FileHandle from) : pid_(pid), to_(std::move(to)), from_(std::move(from)) {}
  PosixProgram(const PosixProgram&) = delete;
  PosixProgram& operator=(const PosixProgram&) = delete;
  ~PosixProgram() override { (void)finish(kPatienceAtEnd); }

  int pid() const override { return pid_; }

  bool write_line(const std::string& line) override {
    const std::string text = line + "\n";
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t wrote = ::send(to_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return false;
      done += static_cast<std::size_t>(wrote);
    }
    return true;
  }

  Result<std::string> read_line(Nanos patience) override {
    const auto until = Clock::now() + std::chrono::nanoseconds(patience);
    for (;;) {
      const std::size_t end = arrived_.find('\n');
      if (end != std::string::npos) {
        std::string line = arrived_.substr(0, end);
        arrived_.erase(0, end + 1);
        return line;
      }
      if (auto more = receive(until); !more) return more.error();
    }
  }

  Result<std::string> read_all(Nanos patience) override {
    const auto until = Clock::now() + std::chrono::nanoseconds(patience);
    for (;;) {
      auto more = receive(until);
      if (more) continue;
      if (more.error().code != Errc::kClosed) return more.error();
      return std::exchange(arrived_, {});
    }
  }

  int finish(Nanos patience) override {
    if (ended_) return status_;
    to_.close();
    const auto until = Clock::now() + std::chrono::nanoseconds(patience);
    int raw = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(pid_, &raw, WNOHANG)) == 0 && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (ended == 0) {
      (void)::kill(pid_, SIGKILL);
      while ((ended = ::waitpid(pid_, &raw, 0)) < 0 && errno == EINTR) {
      }
    }
    ended_ = true;
    status_ = ended != pid_ ? 0 : WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
    return status_;
  }

 private:
  // Waits for more output.
  Result<void> receive(Clock::time_point until) {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      pollfd wanted{from_.get(), POLLIN, 0};
      const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<long long>(0, left)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return Error{Errc::kTimeout, "no answer in time"};
      char part[4096];
      const ssize_t got = ::read(from_.get(), part, sizeof part);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return Error{Errc::kClosed, "it has ended"};
      if (arrived_.size() > kLongestOutput) return Error{Errc::kTimeout, "its output does not end"};
      arrived_.append(part, static_cast<std::size_t>(got));
      return {};
    }
  }

  const pid_t pid_;
  FileHandle to_;
  FileHandle from_;
  std::string arrived_;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace

Result<std::unique_ptr<PipedProgram>> PipedProgram::start(const std::vector<std::string>& words) {
  Pipe down;
  Pipe up;
  if (!down.open() || !up.open()) return Error{Errc::kIo, words[0] + ": no pipe: " + std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up.write.get(), STDOUT_FILENO);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));  // the call's own type
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int fault = ::posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) {
    return Error{fault == ENOENT ? Errc::kNotFound : Errc::kIo, words[0] + ": " + std::strerror(fault)};
  }
  return std::unique_ptr<PipedProgram>(std::make_unique<PosixProgram>(pid, std::move(down.write), std::move(up.read)));
}

Result<std::string> output_of(const std::vector<std::string>& words, Nanos deadline) {
  auto program = PipedProgram::start(words);
  if (!program) return program.error();
  auto output = program.value()->read_all(deadline);
  const int status = program.value()->finish(output ? kPatienceAtEnd : 0);
  if (!output) return Error{output.error().code, words[0] + ": " + output.error().message};
  if (status != 0) return Error{Errc::kIo, words[0] + ": it ended with status " + std::to_string(status)};
  return output;
}

std::string this_program() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size <= 0 || static_cast<std::size_t>(size) == sizeof path ? std::string()
                                                                    : std::string(path, static_cast<std::size_t>(size));
}

}  // namespace tidegate::base
