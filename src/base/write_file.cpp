#include "src/base/write_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tidegate::base {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 100;  // of finding a name that no other process uses at the same time

Error io_error(const std::string& path, int code) {
  return {code == ENOENT ? Errc::kNotFound : Errc::kIo, path + ": cannot be written: " + std::strerror(code)};
}

// 0, or the system's error code.
int write_all(std::FILE* file, std::string_view text) {
  int code = 0;
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) code = errno;
  if (std::fflush(file) != 0 && code == 0) code = errno;
  if (std::fclose(file) != 0 && code == 0) code = errno;
  return code;
}

bool is_special(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// A new file beside `path`; its name goes to `temporary`. Null: errno says why.
std::FILE* open_beside(const std::string& path, std::string& temporary) {
  for (int i = 0; i < kAttempts; ++i) {
    temporary = path + ".part" + std::to_string(i);
    std::FILE* file = std::fopen(temporary.c_str(), "wbx");
    if (file != nullptr || errno != EEXIST) return file;
  }
  return nullptr;
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text) {
  if (is_special(path)) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const int code = file == nullptr ? errno : write_all(file, text);
    if (code != 0) return io_error(path, code);
    return {};
  }
  std::string temporary;
  std::FILE* file = open_beside(path, temporary);
  if (file == nullptr) return io_error(path, errno);
  std::error_code renamed;
  int code = write_all(file, text);
  if (code == 0) {
    fs::rename(temporary, path, renamed);
    if (!renamed) return {};
    code = renamed.value();
  }
  std::error_code ignored;
  fs::remove(temporary, ignored);
  return io_error(path, code);
}

Result<void> can_write_file(const std::string& path) {
  if (is_special(path)) return {};
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return io_error(path, EISDIR);
  std::string temporary;
  std::FILE* file = open_beside(path, temporary);
  if (file == nullptr) return io_error(path, errno);
  std::fclose(file);
  fs::remove(temporary, ignored);
  return {};
}

}  // namespace tidegate::base
