// One block's state, shared by the lock-free lease path and the pager's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/pager/uses.h"
#include "tidegate/pager.h"

namespace tidegate::pager {

// The state word: leases in the low half, flags above. A lease adds one and looks at the flags; dropping the block is
// one compare-exchange that succeeds only while nobody holds it. Either sees the other.
inline constexpr std::uint64_t kLeaseMask = 0xFFFF'FFFFull;
inline constexpr std::uint64_t kResident = 1ull << 32;  // its copy has been issued; address and arrival are valid
inline constexpr std::uint64_t kRing = 1ull << 33;      // the plan streams it: its release is news for the copy task
inline constexpr std::uint64_t kUsed = 1ull << 34;      // released since it was last fetched or planned for
inline constexpr std::uint64_t kDoomed = 1ull << 35;    // lies in a condemned frame: no new leases

struct alignas(64) Block {
  std::atomic<std::uint64_t> state{0};
  std::atomic<std::uint64_t> last_use{0};  // pack(Use) of the latest release, 0 for none since it was fetched
  std::uint64_t arrival = 0;               // the copy that brought it; valid while kResident
  DeviceAddress address = 0;               // valid while kResident
  Bytes bytes = 0;                         // rounded up to the grain
  ModelId model = 0;
  std::uint32_t index = 0;  // in the model
  // Guarded by PagerCore::uses_mutex_: last uses on streams other than that of last_use.
  std::vector<Use> more_uses;

  bool try_lease() {
    const std::uint64_t before = state.fetch_add(1, std::memory_order_acquire);
    if ((before & (kResident | kDoomed)) == kResident) return true;
    state.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  bool resident() const { return (state.load(std::memory_order_acquire) & kResident) != 0; }
  bool leased() const { return (state.load(std::memory_order_acquire) & kLeaseMask) != 0; }
  // Takes the block out of VRAM's books; false if it is leased or not resident.
  bool try_drop() {
    std::uint64_t word = state.load(std::memory_order_acquire);
    while ((word & kResident) != 0 && (word & kLeaseMask) == 0) {
      if (state.compare_exchange_weak(word, 0, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
};

}  // namespace tidegate::pager
