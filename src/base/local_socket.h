// Sockets between processes of one machine that carry short messages, each with at most one descriptor. Linux.
//
// Names that begin with '@' are of the abstract kind: they leave no file behind, however their owner ends. Nothing here
// waits but connect_to(), shortly, and wait_readable(). All descriptors are closed on exec.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/executor.h"
#include "src/base/file_handle.h"
#include "tidegate/result.h"

namespace tidegate::base {

inline constexpr std::size_t kMaxMessage = 16;  // bytes; what is longer arrives cut off

struct SocketMessage {
  unsigned char bytes[kMaxMessage] = {};
  std::size_t size = 0;
  FileHandle file;  // that came along
};

enum class Received : std::uint8_t { kMessage, kNothing, kClosed };

// Errors: kIo with the system's words; kInvalidArgument for a name too long.
Result<FileHandle> listen_at(const std::string& name);
Result<FileHandle> connect_to(const std::string& name);

// None: nobody waits (or the one who did has gone, or was turned away as this process has no descriptor left). Called
// by one thread at a time.
FileHandle accept_from(const FileHandle& listener);
// False: the other side is gone. A full queue is success: the other side has enough to wake up for, unless a file is
// to go along, which is then an error too.
bool send_message(const FileHandle& socket, const void* bytes, std::size_t size, int file = -1);
Received receive_message(const FileHandle& socket, SocketMessage& message);
bool peer_closed(const FileHandle& socket);

struct Peer {
  int pid = 0;
  unsigned user = 0;
};
Peer peer_of(const FileHandle& socket);  // who connected, as the system says; pid 0: not known
unsigned this_user();

// A descriptor that becomes readable when the process ends; none: it has ended, or the system has no such thing.
FileHandle watch_process(int pid);

// Waits until one of them is readable or closed, or `timeout` (kNever: none) has passed.
void wait_readable(const std::vector<int>& files, Nanos timeout);
bool is_readable(const FileHandle& file);

// Makes wait_readable() return: signal_wake() may be called from any thread.
FileHandle make_wake();
void signal_wake(const FileHandle& wake);
void clear_wake(const FileHandle& wake);

}  // namespace tidegate::base
