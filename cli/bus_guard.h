// A file that shrinks while it is mapped: in place of a signal, one line that names the file and the offset, and the
// exit code of bad input. For the program only: a library must not take the host's signal.
#pragma once

#include <cstddef>
#include <string>

#include "tidegate/bytes.h"

namespace tidegate::cli {

class BusGuard {
 public:
  BusGuard(const std::byte* base, Bytes size, const std::string& path);  // a mapping; a few dozen at a time
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

 private:
  int place_ = -1;
};

}  // namespace tidegate::cli
