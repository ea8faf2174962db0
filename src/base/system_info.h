// What the operating system says about the process's surroundings; system_info_posix.cpp and system_info_windows.cpp.
#pragma once

#include <cstdio>
#include <string>

#include "tidegate/bytes.h"

namespace tidegate::base {

struct HostMemory {
  Bytes available = 0;  // what this process may still take without swapping; 0: unknown
  std::string source;   // where the number is from: "MemAvailable", "cgroup memory.max"
};

// The least of what the system has available and what the process's control groups leave. Any thread.
HostMemory available_host_memory();

// The most resident memory that this process ever had; 0: unknown.
Bytes peak_resident_bytes();

// The kernel's release as uname tells it ("5.15.90.1-microsoft-standard-WSL2"); "Windows" on Windows.
std::string kernel_release();

// This process, as the system numbers it.
int process_id();

// Whether the stream is a terminal that a line can be rewritten on.
bool is_terminal(std::FILE* stream);

}  // namespace tidegate::base
