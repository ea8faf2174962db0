#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/input_file.h"

namespace tidegate::base {

namespace {

Error system_error(const std::string& path, int code) {
  return {code == ENOENT || code == ENOTDIR ? Errc::kNotFound : Errc::kIo, path + ": " + std::strerror(code)};
}

#if defined(O_DIRECT)
constexpr int kDirectFlag = O_DIRECT;
#else
constexpr int kDirectFlag = 0;
#endif

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, Cache cache) {
  // Non-blocking: opening a pipe must not wait for its writer.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  InputFile file;
  file.path_ = path;
  if (cache == Cache::kDirect && kDirectFlag != 0) {
    file.handle_ = ::open(path.c_str(), kFlags | kDirectFlag);
    file.direct_ = file.handle_ >= 0;
  }
  if (file.handle_ < 0) file.handle_ = ::open(path.c_str(), kFlags);
  if (file.handle_ < 0) return system_error(path, errno);
  struct stat info {};
  if (::fstat(static_cast<int>(file.handle_), &info) != 0) return system_error(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{Errc::kIo, path + (S_ISDIR(info.st_mode) ? ": is a directory" : ": is not a regular file")};
  }
  file.size_ = static_cast<Bytes>(info.st_size);
  return file;
}

InputFile::~InputFile() {
  if (handle_ >= 0) ::close(static_cast<int>(handle_));
}

Result<void> InputFile::read(Bytes offset, void* to, Bytes bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0 && offset < size_) {
    const ssize_t got = ::pread(static_cast<int>(handle_), at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int code = errno;
      return Error{Errc::kIo, path_ + ": offset " + std::to_string(offset) + ": " + std::strerror(code)};
    }
    if (got == 0) {
      return Error{Errc::kBadFile, path_ + ": offset " + std::to_string(offset) +
                                       ": the file ends here, it was longer when it was opened: truncated meanwhile"};
    }
    at += got;
    offset += static_cast<Bytes>(got);
    bytes -= std::min(bytes, static_cast<Bytes>(got));
  }
  return {};
}

void InputFile::drop_cache() const {
#if defined(POSIX_FADV_DONTNEED)
  (void)::posix_fadvise(static_cast<int>(handle_), 0, 0, POSIX_FADV_DONTNEED);
#endif
}

}  // namespace tidegate::base
