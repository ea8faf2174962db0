// Writing a whole file, or nothing.
#pragma once

#include <string>
#include <string_view>

#include "tidegate/result.h"

namespace tidegate::base {

// Writes `text` beside `path` and renames it into place, so that a reader sees the old file or the new one; after an
// error nothing is left behind. What is not a regular file (a pipe, a device) is written to directly. Errors: kIo.
Result<void> write_file(const std::string& path, std::string_view text);

// Whether write_file has a chance: the folder exists and takes files. Errors: kIo, kNotFound.
Result<void> can_write_file(const std::string& path);

}  // namespace tidegate::base
