// Errors as values: nothing in Tidegate throws across its interface or on the lease path.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace tidegate {

enum class Errc {
  kInvalidArgument,  // the caller's values are off; nothing was changed
  kNotFound,         // a named thing (file, card, block, key) does not exist
  kBadFile,          // a file's content is truncated, inconsistent or hostile
  kIo,               // the operating system refused a read or write
  kNoDriver,         // the driver's library is not there
  kDriverTooOld,     // it is there and lacks something needed
  kNoDevice,         // it is there and reports no device
  kDriver,           // a driver call failed; Error::driver_status has its code
  kOutOfMemory,      // device memory; nothing more can be shed
  kHostOutOfMemory,  // host memory
  kBelowFloor,       // a budget smaller than the least the pager can run with
  kWouldDeadlock,    // waiting could never end: only the caller itself could free what it waits for
  kTimeout,          // the deadline passed
  kClosed,           // the object is shutting down
  kCapturing,        // not possible on a stream that captures
};

// Stable lower-case name of a code, for messages and JSON ("below-floor").
const char* name_of(Errc code);

struct Error {
  Errc code{};
  std::string message;    // one line: the cause, and the cure where there is one
  int driver_status = 0;  // the driver's own code where code is kDriver, else 0
};

// A value or an Error. T may be void. Holds exactly one; asking for the other asserts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(failed_);
    return error_;
  }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace tidegate
