// One client thread's calls to a server in another process: a page range that both map, with a state word that the
// client sleeps on. One call at a time. Linux.
//
// The server believes nothing that lies in it: take_request() copies the request out, once, and bounds its length.
// The memory cannot be made smaller under the server (sealed; attach() checks).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/executor.h"
#include "src/base/file_handle.h"
#include "tidegate/result.h"

namespace tidegate::base {

class CallChannel {
 public:
  static constexpr std::size_t kCapacity = 60 * 1024;  // bytes of a request, and of a reply

  ~CallChannel();
  CallChannel(const CallChannel&) = delete;
  CallChannel& operator=(const CallChannel&) = delete;

  // The client's side; `file` is what to send to the server, and may be closed then. Errors: kIo.
  static Result<std::unique_ptr<CallChannel>> create(FileHandle& file);
  // The server's. Errors: kInvalidArgument, the file is not one that create() made.
  static Result<std::unique_ptr<CallChannel>> attach(const FileHandle& file);

  // --- The client. ---
  // Where a request of at most kCapacity bytes is written to, and the reply is found.
  unsigned char* data();
  void post(std::size_t size);
  // Sleeps until the reply is there (true) or `timeout` has passed; `size` is then the reply's.
  bool wait_reply(Nanos timeout, std::size_t& size);
  void hang_up();  // no further call will come

  // --- The server. ---
  bool requested() const;
  bool hung_up() const;
  int thread() const;  // the client's word for which thread it is
  std::vector<unsigned char> take_request() const;
  void reply(const std::vector<unsigned char>& bytes);

 private:
  struct Shared;
  explicit CallChannel(Shared* shared) : shared_(shared) {}
  Shared* shared_;
};

}  // namespace tidegate::base
