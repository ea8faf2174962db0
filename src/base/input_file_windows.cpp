#include <algorithm>

#include <windows.h>

#include "src/base/input_file.h"

namespace tidegate::base {

namespace {

Error system_error(const std::string& where) {
  const DWORD code = ::GetLastError();
  const bool missing = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
  if (missing) return {Errc::kNotFound, where + ": there is no such file"};
  return {Errc::kIo, where + ": Windows error " + std::to_string(code)};
}

HANDLE handle_of(long long number) { return reinterpret_cast<HANDLE>(number); }

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, Cache cache) {
  InputFile file;
  file.path_ = path;
  const DWORD flags = cache == Cache::kDirect ? FILE_FLAG_NO_BUFFERING : FILE_ATTRIBUTE_NORMAL;
  const HANDLE handle =
      ::CreateFileA(path.c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING, flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return system_error(path);
  file.handle_ = reinterpret_cast<long long>(handle);
  file.direct_ = cache == Cache::kDirect;
  LARGE_INTEGER size{};
  if (!::GetFileSizeEx(handle, &size)) return system_error(path);
  file.size_ = static_cast<Bytes>(size.QuadPart);
  return file;
}

InputFile::~InputFile() {
  if (handle_ != -1) ::CloseHandle(handle_of(handle_));
}

Result<void> InputFile::read(Bytes offset, void* to, Bytes bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0 && offset < size_) {
    OVERLAPPED place{};
    place.Offset = static_cast<DWORD>(offset);
    place.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD got = 0;
    const auto now = static_cast<DWORD>(std::min<Bytes>(bytes, 1u << 30));
    if (!::ReadFile(handle_of(handle_), at, now, &got, &place) || got == 0) {
      return system_error(path_ + ": offset " + std::to_string(offset));
    }
    at += got;
    offset += got;
    bytes -= std::min<Bytes>(bytes, got);
  }
  return {};
}

void InputFile::drop_cache() const {}

}  // namespace tidegate::base
