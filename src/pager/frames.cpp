#include "src/pager/frames.h"

#include <algorithm>

#include "src/driver/errors.h"
#include "src/pager/insist.h"

namespace tidegate::pager {

Bytes default_frame_bytes(Bytes card_total) { return (card_total < 8 * kGiB ? 16 : 32) * kMiB; }

Frames::~Frames() {
  if (base_ == 0) return;
  if (plain_) {
    insist([&] { return driver_.mem_free(base_); });
    return;
  }
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (handles_[slot] != 0) insist([&] { return unmap(slot); });
  }
  insist([&] { return driver_.mem_address_free(base_, states_.size() * frame_bytes_); });
}

Result<void> Frames::reserve(std::size_t slots) {
  const cu::Status status = driver_.mem_address_reserve(&base_, slots * frame_bytes_, 0, 0, 0);
  if (status != cu::kSuccess) {
    base_ = 0;
    return driver::driver_error(driver_, status, "reserving addresses for the arena");
  }
  states_.assign(slots, State::kUnmapped);
  handles_.assign(slots, 0);
  half_mapped_.assign(slots, 0);
  unmapped_.assign(slots, 0);
  clean_after_.assign(slots, 0);
  return {};
}

Result<void> Frames::allocate_plain(std::size_t slots) {
  const cu::Status status = driver_.mem_alloc(&base_, slots * frame_bytes_);
  if (status != cu::kSuccess) {
    base_ = 0;
    return driver::driver_error(driver_, status, "allocating the budget in one piece");
  }
  plain_ = true;
  states_.assign(slots, State::kMapped);
  held_ = peak_ = slots;
  return {};
}

void Frames::set_state(std::size_t slot, State state) {
  const bool was = states_[slot] != State::kUnmapped;
  const bool is = state != State::kUnmapped;
  if (is && !was) ++held_;
  if (was && !is) --held_;
  peak_ = std::max(peak_, held_);
  states_[slot] = state;
}

bool Frames::usable(Bytes offset, Bytes bytes) const {
  if (bytes == 0 || offset + bytes > states_.size() * frame_bytes_) return false;
  for (std::size_t slot = offset / frame_bytes_; slot <= (offset + bytes - 1) / frame_bytes_; ++slot) {
    if (states_[slot] != State::kMapped) return false;
  }
  return true;
}

cu::Status Frames::map(std::size_t slot) {
  const cu::MemLocation location{cu::kLocationDevice, device_};
  const cu::DevicePtr address = base_ + slot * frame_bytes_;
  if (!half_mapped_[slot]) {
    cu::MemProp prop{};
    prop.type = cu::kAllocationPinned;
    prop.location = location;
    cu::MemHandle handle = 0;
    ++mapping_calls_;
    cu::Status status = driver_.mem_create(&handle, frame_bytes_, &prop, 0);
    if (status != cu::kSuccess) return status;
    ++mapping_calls_;
    status = driver_.mem_map(address, frame_bytes_, 0, handle, 0);
    if (status != cu::kSuccess) {
      insist([&] { return driver_.mem_release(handle); });
      return status;
    }
    handles_[slot] = handle;
    half_mapped_[slot] = 1;
  }
  const cu::MemAccess access{location, cu::kAccessReadWrite};
  ++mapping_calls_;
  const cu::Status status = driver_.mem_set_access(address, frame_bytes_, &access, 1);
  if (status == cu::kSuccess) {
    half_mapped_[slot] = 0;
  } else if (status != cu::kNotReady) {
    abandon(slot);
  }
  return status;
}

void Frames::abandon(std::size_t slot) {
  if (half_mapped_[slot] == 0) return;  // it came no further than creation
  half_mapped_[slot] = 0;
  insist([&] { return unmap(slot); });
}

cu::Status Frames::unmap_addresses(std::size_t slot) {
  if (unmapped_[slot] != 0) return cu::kSuccess;
  ++mapping_calls_;
  const cu::Status status = driver_.mem_unmap(base_ + slot * frame_bytes_, frame_bytes_);
  if (status != cu::kSuccess) return status;
  unmapped_[slot] = 1;
  half_mapped_[slot] = 0;
  return cu::kSuccess;
}

cu::Status Frames::unmap(std::size_t slot) {
  if (const cu::Status status = unmap_addresses(slot); status != cu::kSuccess) return status;
  ++mapping_calls_;
  const cu::Status released = driver_.mem_release(handles_[slot]);
  if (released != cu::kSuccess) return released;
  handles_[slot] = 0;
  unmapped_[slot] = 0;
  return cu::kSuccess;
}

}  // namespace tidegate::pager
