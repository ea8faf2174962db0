// A small file that several processes map for reading and writing, with locks on its bytes that end with their process;
// shared_file_linux.cpp. Windows: open answers kIo until named mutexes stand in for the locks there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tidegate/result.h"

namespace tidegate::base {

// One per path and process, opened once and never closed: the system drops all of a process's locks on a file when the
// process closes any descriptor of it. Thread-safe. A forked child has the mapping and none of the locks.
class SharedFile {
 public:
  // Opens folder/name, or creates it with `size` bytes that `fill` writes; whoever opens it finds it filled. The folder
  // is made (mode 0700) if its parent exists. Errors: kIo (the system's own words), kBadFile (another size), and
  // kInvalidArgument where the folder or file is a link, belongs to another user or is open to others.
  static Result<std::shared_ptr<SharedFile>> open(const std::string& folder, const std::string& name, std::size_t size,
                                                  const std::function<void(std::span<std::byte>)>& fill);

  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  // Whoever truncates the file ends every process that has it mapped; only the same user can.
  std::span<std::byte> bytes() const { return bytes_; }

  // Locks one byte for this process; never waits. False: another process has it. The lock is the process's, not the
  // thread's: it is granted again to whoever asks in this process.
  bool try_lock(std::uint32_t byte);
  void unlock(std::uint32_t byte);
  // Whether any process, this one included, in any PID namespace, holds the byte's lock.
  bool locked(std::uint32_t byte) const;

 private:
  SharedFile(int descriptor, std::span<std::byte> bytes) : descriptor_(descriptor), bytes_(bytes) {}

  int descriptor_ = -1;
  std::span<std::byte> bytes_;
};

// How many times this process descends by fork from the one that loaded the library, counted since then: a number that
// differs between a parent and its child. One atomic load.
std::uint64_t fork_generation();

// What tells this process from any other, earlier ones with its number included. Never asked whether it lives: that is
// what its locks say.
struct ProcessIdentity {
  std::uint64_t pid = 0;        // in its own PID namespace
  std::uint64_t started = 0;    // clock ticks since the machine's start
  std::uint64_t pid_space = 0;  // the PID namespace's inode
  bool operator==(const ProcessIdentity&) const = default;
};
ProcessIdentity process_identity();

// The user's number, as file systems see it; 0 on Windows.
std::uint32_t user_id();

}  // namespace tidegate::base
