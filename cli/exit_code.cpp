#include "cli/exit_code.h"

#include <cstdio>

namespace tidegate::cli {

int say_error(const Error& error) {
  std::fprintf(stderr, "tidegate: %s\n", error.message.c_str());
  switch (error.code) {
    case Errc::kInvalidArgument:
    case Errc::kNotFound:
    case Errc::kBadFile:
    case Errc::kIo:
    case Errc::kNoDriver:
    case Errc::kDriverTooOld:
    case Errc::kNoDevice:
    case Errc::kBelowFloor:
      return kBadInput;
    default:
      return kFailed;
  }
}

}  // namespace tidegate::cli
