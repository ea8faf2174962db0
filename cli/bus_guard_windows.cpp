#include "cli/bus_guard.h"

namespace tidegate::cli {

// Windows refuses to shrink a file that is mapped.
BusGuard::BusGuard(const std::byte*, Bytes, const std::string&) {}
BusGuard::~BusGuard() = default;

}  // namespace tidegate::cli
