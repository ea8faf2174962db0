#include <utility>

#include "sim/remote/peer_host.h"
#include "src/base/peer_memory.h"

namespace tidegate::sim::remote {

namespace {
thread_local void* offered = nullptr;
std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
}  // namespace

bool PeerHost::read(void* to, const void* from, Bytes bytes) {
  return base::read_peer(pid_, to, address_of(from), bytes);
}

bool PeerHost::write(void* to, const void* from, Bytes bytes) {
  return base::write_peer(pid_, address_of(to), from, bytes);
}

void* PeerHost::allocate(Bytes) { return std::exchange(offered, nullptr); }

void PeerHost::offer(void* base) { offered = base; }

}  // namespace tidegate::sim::remote
