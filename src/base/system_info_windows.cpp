#include <io.h>
#include <windows.h>
// After windows.h, which it needs.
#include <psapi.h>

#include "src/base/system_info.h"

namespace tidegate::base {

HostMemory available_host_memory() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (::GlobalMemoryStatusEx(&status) == 0) return {};
  return {status.ullAvailPhys, "GlobalMemoryStatusEx"};
}

Bytes peak_resident_bytes() {
  PROCESS_MEMORY_COUNTERS counters{};
  if (::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters) == 0) return 0;
  return counters.PeakWorkingSetSize;
}

std::string kernel_release() { return "Windows"; }

int process_id() { return static_cast<int>(::GetCurrentProcessId()); }

bool is_terminal(std::FILE* stream) { return ::_isatty(::_fileno(stream)) != 0; }

}  // namespace tidegate::base
