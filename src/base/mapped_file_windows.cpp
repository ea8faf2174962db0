#include <utility>

#include <windows.h>

#include "src/base/mapped_file.h"

namespace tidegate::base {
namespace {

Error system_error(const std::string& path) {
  const DWORD code = ::GetLastError();
  const bool missing = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
  if (missing) return {Errc::kNotFound, path + ": there is no such file"};
  return {Errc::kIo, path + ": Windows error " + std::to_string(code)};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // A name as the program was given it, in the system's code page, as fopen() takes it.
  const HANDLE file = ::CreateFileA(path.c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                                    FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return system_error(path);
  LARGE_INTEGER size{};
  if (::GetFileSizeEx(file, &size) == 0) {
    Error error = system_error(path);
    ::CloseHandle(file);
    return error;
  }
  if (size.QuadPart == 0) {
    ::CloseHandle(file);
    return MappedFile();
  }
  const HANDLE mapping = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  const void* data = mapping != nullptr ? ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : nullptr;
  Error error;
  if (data == nullptr) error = system_error(path);
  if (mapping != nullptr) ::CloseHandle(mapping);
  ::CloseHandle(file);
  if (data == nullptr) return error;
  return MappedFile(static_cast<const std::byte*>(data), static_cast<std::size_t>(size.QuadPart));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::UnmapViewOfFile(data_);
}

}  // namespace tidegate::base
