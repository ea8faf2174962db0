// Exit codes of the program, and the one line that goes with a failure.
#pragma once

#include "tidegate/result.h"

namespace tidegate::cli {

inline constexpr int kFailed = 1;       // it ran, and did not go well
inline constexpr int kBadInput = 2;     // usage, files, devices
inline constexpr int kSignalled = 128;  // plus the signal's number, as shells have it

// Says the error on stderr and answers the exit code.
int say_error(const Error& error);

}  // namespace tidegate::cli
