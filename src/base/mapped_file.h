// A file mapped for reading; mapped_file_posix.cpp and mapped_file_windows.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tidegate/result.h"

namespace tidegate::base {

// Move-only; the mapping lives as long as the object. The file must not shrink meanwhile. Any thread may read.
class MappedFile {
 public:
  // Errors: kNotFound, kIo (the system's own words; also for what is not a regular file). An empty file is no error.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tidegate::base
