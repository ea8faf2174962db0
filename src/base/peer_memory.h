// The memory of another process of the same user, as its debugger would see it. Linux.
#pragma once

#include <cstdint>

#include "tidegate/bytes.h"

namespace tidegate::base {

// False: not all of it could be reached: it is not mapped, the process is gone, or the system does not allow it. Part
// may have been copied then.
bool read_peer(int pid, void* to, std::uint64_t from, Bytes bytes);
bool write_peer(int pid, std::uint64_t to, const void* from, Bytes bytes);

}  // namespace tidegate::base
