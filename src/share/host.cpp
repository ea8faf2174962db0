#include "src/share/host.h"

#include <algorithm>

namespace tidegate::share {

SignedBytes offset(const HostFree& blind, Bytes device_free) {
  return static_cast<SignedBytes>(blind.shown) - static_cast<SignedBytes>(blind.own_cache) -
         static_cast<SignedBytes>(device_free);
}

SignedBytes host_target(Bytes needed, const HostFree& blind, Bytes device_free) {
  // The host's cache is in what it shows and is free to itself alone.
  return static_cast<SignedBytes>(needed) + offset(blind, device_free) + static_cast<SignedBytes>(blind.own_cache);
}

Bytes host_reserve(HostSees sees, std::span<const SeatView> seats, int host_row) {
  Bytes others = 0;
  if (sees == HostSees::kDevice) return others;
  for (const SeatView& seat : seats) {
    if (seat.row != host_row) others += seat.state.held() + seat.state[Term::kPromised];
  }
  return others;
}

struct MemInfoCorrection::Wrapped {
  MemInfoFunction original;
  std::function<std::optional<Bytes>()> device_free;  // empty once the correction is gone
};

namespace {

// The type by which a slot is known to be corrected.
template <typename Wrapped>
struct Corrected {
  std::shared_ptr<Wrapped> wrapped;
  std::optional<MemInfo> operator()() const {
    std::optional<MemInfo> info = wrapped->original();
    if (!info || !wrapped->device_free) return info;
    if (const std::optional<Bytes> free = wrapped->device_free()) info->free = std::min(info->free, *free);
    return info;
  }
};

}  // namespace

std::unique_ptr<MemInfoCorrection> MemInfoCorrection::install(MemInfoFunction& slot,
                                                              std::function<std::optional<Bytes>()> device_free) {
  std::unique_ptr<MemInfoCorrection> correction(new MemInfoCorrection());
  if (slot.target<Corrected<Wrapped>>() != nullptr) return correction;
  correction->slot_ = &slot;
  correction->wrapped_ = std::make_shared<Wrapped>(Wrapped{std::move(slot), std::move(device_free)});
  slot = Corrected<Wrapped>{correction->wrapped_};
  return correction;
}

MemInfoCorrection::~MemInfoCorrection() {
  if (!wrapped_) return;
  wrapped_->device_free = nullptr;
  const auto* ours = slot_->target<Corrected<Wrapped>>();
  if (ours != nullptr && ours->wrapped == wrapped_) *slot_ = MemInfoFunction(wrapped_->original);
}

}  // namespace tidegate::share
