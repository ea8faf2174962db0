// A file that is read at offsets, never mapped: what shrinks or fails under us is an error, not a signal.
// input_file_posix.cpp and input_file_windows.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::base {

// Move-only. Any thread may read.
class InputFile {
 public:
  enum class Cache {
    kPage,    // through the system's page cache
    kDirect,  // past it, where the file system can: offsets, sizes and buffers are multiples of kDirectAlign then
  };
  static constexpr Bytes kDirectAlign = 4096;

  // Errors: kNotFound, kIo (the system's own words; also for what is not a regular file).
  static Result<InputFile> open(const std::string& path, Cache cache = Cache::kPage);

  InputFile() = default;
  InputFile(InputFile&& other) noexcept
      : handle_(std::exchange(other.handle_, -1)),
        size_(other.size_),
        direct_(other.direct_),
        path_(std::move(other.path_)) {}
  InputFile& operator=(InputFile&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(size_, other.size_);
    std::swap(direct_, other.direct_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~InputFile();

  Bytes size() const { return size_; }     // when it was opened
  bool direct() const { return direct_; }  // false although asked for: the file system cannot
  const std::string& path() const { return path_; }

  // Reads exactly `bytes` bytes, but for what lies behind size(). Errors, naming file and offset: kBadFile (it has
  // become shorter), kIo.
  Result<void> read(Bytes offset, void* to, Bytes bytes) const;

  // Asks the system to forget what it has cached of the file, for measurements of cold reads.
  void drop_cache() const;

 private:
  long long handle_ = -1;
  Bytes size_ = 0;
  bool direct_ = false;
  std::string path_;
};

}  // namespace tidegate::base
