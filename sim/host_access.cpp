#include "sim/host_access.h"

#include <cstring>
#include <new>

namespace tidegate::sim {

namespace {

constexpr std::size_t kPageBytes = 4096;

class DirectHostAccess final : public HostAccess {
 public:
  bool read(void* to, const void* from, Bytes bytes) override {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
    return true;
  }
  bool write(void* to, const void* from, Bytes bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return true;
  }
  // Lazily committed where the system does so for large blocks, as the C library does on the systems we run on.
  void* allocate(Bytes bytes) override {
    return ::operator new (static_cast<std::size_t>(round_up(bytes, kPageBytes)), std::align_val_t{kPageBytes},
                           std::nothrow);
  }
  void release(void* base) override { ::operator delete (base, std::align_val_t{kPageBytes}); }
};

}  // namespace

HostAccess& direct_host_access() {
  static DirectHostAccess access;
  return access;
}

}  // namespace tidegate::sim
