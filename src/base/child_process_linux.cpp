#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/child_process.h"

namespace tidegate::base {

namespace {

constexpr int kForwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalFile::SignalFile() {
  const sigset_t set = taken_signals();
  (void)pthread_sigmask(SIG_BLOCK, &set, nullptr);
  file_ = FileHandle(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalFile::~SignalFile() {
  const sigset_t set = taken_signals();
  (void)pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::optional<SignalFile::Signal> SignalFile::next() {
  signalfd_siginfo info;
  if (::read(file_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code > 0};
}

Result<int> spawn_program(const std::vector<std::string>& words, const std::map<std::string, std::string>& changes) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (changes.count(text.substr(0, text.find('='))) == 0) variables.push_back(text);
  }
  for (const auto& [name, value] : changes) variables.push_back(name + "=" + value);
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));  // the call's own type
    result.push_back(nullptr);
    return result;
  };
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t mask;
  (void)pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  const sigset_t ours = taken_signals();
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&ours, signal) == 1) sigdelset(&mask, signal);
  }
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int fault =
      ::posix_spawnp(&pid, words[0].c_str(), nullptr, &attributes, pointers(words).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  if (fault == 0) return static_cast<int>(pid);
  return Error{fault == ENOENT ? Errc::kNotFound : Errc::kIo, words[0] + ": " + std::strerror(fault)};
}

Error become_program(const std::vector<std::string>& words, const std::map<std::string, std::string>& changes) {
  for (const auto& [name, value] : changes) {
    (void)::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): nothing else runs any more
  }
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));  // the call's own type
  pointers.push_back(nullptr);
  (void)::execvp(pointers[0], pointers.data());
  const int fault = errno;
  return Error{fault == ENOENT ? Errc::kNotFound : Errc::kIo, words[0] + ": " + std::strerror(fault)};
}

std::optional<Ended> next_ended() {
  int status = 0;
  const pid_t pid = ::waitpid(-1, &status, WNOHANG);
  if (pid <= 0) return std::nullopt;
  return Ended{pid, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
}

void send_signal(int pid, int signal) { (void)::kill(pid, signal); }

}  // namespace tidegate::base
