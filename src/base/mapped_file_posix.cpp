#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/mapped_file.h"

namespace tidegate::base {
namespace {

Error system_error(const std::string& path) {
  const int code = errno;
  return {code == ENOENT || code == ENOTDIR ? Errc::kNotFound : Errc::kIo, path + ": " + std::strerror(code)};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // Non-blocking: opening a pipe must not wait for its writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error(path);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) {
    Error error = system_error(path);
    ::close(descriptor);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Error{Errc::kIo, path + (S_ISDIR(info.st_mode) ? ": is a directory" : ": is not a regular file")};
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {
    ::close(descriptor);
    return MappedFile();
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  Error error;
  if (data == MAP_FAILED) error = system_error(path);
  ::close(descriptor);
  if (data == MAP_FAILED) return error;
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace tidegate::base
