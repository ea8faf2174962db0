// A client process's side of the broker: one socket that says that it lives, one channel per calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/remote/wire.h"
#include "src/base/call_channel.h"
#include "src/base/file_handle.h"
#include "src/base/mutex.h"
#include "tidegate/result.h"

namespace tidegate::sim::remote {

// Any thread may call anything.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Answers once the broker has let this process in. Errors: kIo (no broker there), kClosed (the broker refuses, with
  // its reason).
  static Result<std::shared_ptr<Connection>> open(const std::string& socket_name);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() = default;

  // Sends a request and waits for its reply. False: the broker is gone, or this is a forked child.
  bool call(const Writer& request, std::vector<unsigned char>& reply);
  // The same where a descriptor comes with the reply; none: the broker sent none.
  bool call(const Writer& request, std::vector<unsigned char>& reply, base::FileHandle& file);
  // Whether the calling process is the one that opened it: a forked child is not.
  bool own_process() const;
  const std::string& description() const { return description_; }

 private:
  Connection(base::FileHandle socket, int pid, std::uint64_t id) : socket_(std::move(socket)), pid_(pid), id_(id) {}
  base::CallChannel* channel();

  base::FileHandle socket_;
  const int pid_;
  const std::uint64_t id_;  // no two of a process are the same
  std::string description_;
  base::Mutex files_;  // held from a request for a descriptor to its arrival: they come in order
};

}  // namespace tidegate::sim::remote
