// Hosts that believe a blind number: how their reading is corrected, exactly once, and what they keep in reserve.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "src/share/admission.h"

namespace tidegate::share {

// What a program was told it may use: what its driver says is free, and what its own allocator holds unused, which it
// often adds before it shows the sum to anybody.
struct HostFree {
  Bytes shown = 0;      // as the host computes it
  Bytes own_cache = 0;  // of `shown`: its allocator's unused bytes, which no other process sees as free
};

// blind - true, free of the host's own cache and not clamped: below zero, the host sees less than is there (a frozen
// WDDM budget does), and clamping that would evict the difference for nothing (host-arbitration.md B9). Added to a
// host's target of free bytes it cancels the bias: the host frees until `needed` bytes are truly free.
SignedBytes offset(const HostFree& blind, Bytes device_free);
// What to tell a host that frees until `shown >= target`, so that it stops when `needed` bytes are free on the card.
SignedBytes host_target(Bytes needed, const HostFree& blind, Bytes device_free);

enum class HostSees { kDevice, kProcess };
// What a host that computes with its own reading has to keep free for the other seats: nothing where the reading has
// them in it, else what they hold and were promised. Its own row is never in it (D2.2).
Bytes host_reserve(HostSees sees, std::span<const SeatView> seats, int host_row);

// mem_get_info as a program calls it: free and total bytes; nothing: the call failed.
struct MemInfo {
  Bytes free = 0;
  Bytes total = 0;
  bool operator==(const MemInfo&) const = default;
};
using MemInfoFunction = std::function<std::optional<MemInfo>()>;

// Stands in the place of a host's mem_get_info. `slot` is the variable that the host calls through; it outlives the
// correction. Not thread-safe against the host's calls while it is installed or removed.
class MemInfoCorrection {
 public:
  // `device_free`: a device-wide reading, or nothing. Before each answer the wrapped reading is held against it: one
  // that is device-wide already, or lower, is passed on as it is, so no correction is applied twice, another program's
  // included (I5, I6). A slot that has a correction in it gets no second one.
  static std::unique_ptr<MemInfoCorrection> install(MemInfoFunction& slot,
                                                    std::function<std::optional<Bytes>()> device_free);
  ~MemInfoCorrection();  // the slot is as it was, unless somebody has wrapped it meanwhile: then this one only passes
                         // on
  MemInfoCorrection(const MemInfoCorrection&) = delete;
  MemInfoCorrection& operator=(const MemInfoCorrection&) = delete;

  bool installed() const { return wrapped_ != nullptr; }  // false: the slot was corrected already

 private:
  struct Wrapped;
  MemInfoCorrection() = default;
  MemInfoFunction* slot_ = nullptr;
  std::shared_ptr<Wrapped> wrapped_;
};

}  // namespace tidegate::share
