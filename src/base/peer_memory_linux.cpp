#include <algorithm>

#include <sys/uio.h>

#include "src/base/peer_memory.h"

namespace tidegate::base {

namespace {

constexpr Bytes kAtOnce = Bytes{1} << 30;  // below the most that one call moves

template <typename Move>
bool move_all(int pid, unsigned char* here, std::uint64_t there, Bytes bytes, Move&& move) {
  while (bytes > 0) {
    const Bytes part = std::min(bytes, kAtOnce);
    const iovec local{here, static_cast<std::size_t>(part)};
    const iovec remote{reinterpret_cast<void*>(there), static_cast<std::size_t>(part)};  // NOLINT: another's address
    const ssize_t moved = move(pid, &local, 1, &remote, 1, 0);
    if (moved <= 0) return false;
    here += moved;
    there += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<Bytes>(moved);
  }
  return true;
}

}  // namespace

bool read_peer(int pid, void* to, std::uint64_t from, Bytes bytes) {
  return move_all(pid, static_cast<unsigned char*>(to), from, bytes, ::process_vm_readv);
}

bool write_peer(int pid, std::uint64_t to, const void* from, Bytes bytes) {
  return move_all(pid, static_cast<unsigned char*>(const_cast<void*>(from)), to, bytes, ::process_vm_writev);
}

}  // namespace tidegate::base
