// The arena's backing: frames mapped side by side in one address reservation (dynamic), or one plain allocation.
//
// A frame's slot is its place in the arena. Only the frame task makes mapping calls; this class does the calls and
// keeps the states, the pager's lock guards the states, and no lock is held during a call.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "src/driver/driver.h"
#include "tidegate/bytes.h"
#include "tidegate/pager.h"
#include "tidegate/result.h"

namespace tidegate::pager {

// Device memory that a frame of this size wastes and saves: docs/frames.md.
Bytes default_frame_bytes(Bytes card_total);

class Frames {
 public:
  enum class State : std::uint8_t {
    kUnmapped,
    kMapping,    // being created, without the lock
    kMapped,     // usable
    kCondemned,  // still mapped; to be released as soon as nothing touches it
    kReleasing,  // being released, without the lock
  };

  Frames(driver::Driver& driver, int device, Bytes frame_bytes)
      : driver_(driver), device_(device), frame_bytes_(frame_bytes) {}
  ~Frames();

  // Reserves addresses for `slots` frames; maps nothing.
  Result<void> reserve(std::size_t slots);
  // One plain allocation of `slots` frames instead; all are kMapped.
  Result<void> allocate_plain(std::size_t slots);

  cu::DevicePtr base() const { return base_; }
  Bytes frame_bytes() const { return frame_bytes_; }
  std::size_t slots() const { return states_.size(); }
  State state(std::size_t slot) const { return states_[slot]; }
  void set_state(std::size_t slot, State state);
  std::size_t held() const { return held_; }  // all but kUnmapped
  Bytes held_bytes() const { return held_ * frame_bytes_; }
  Bytes peak_bytes() const { return peak_ * frame_bytes_; }
  // Whether every byte of the range lies in kMapped frames.
  bool usable(Bytes offset, Bytes bytes) const;

  // Creates, maps and opens the slot's frame; on failure nothing is left behind. May be called again after kNotReady:
  // a created and mapped frame whose access was refused is kept for the next attempt (hazard H-9).
  cu::Status map(std::size_t slot);
  // Undoes an attempt that ended in kNotReady, however far it came.
  void abandon(std::size_t slot);
  // Unmaps and releases. The caller has proof that nothing touches the frame (I1). May be called again after a failure.
  cu::Status unmap(std::size_t slot);
  // The first half of it; nothing if that is done already.
  cu::Status unmap_addresses(std::size_t slot);
  // Whether unmap() got half way: the addresses are gone, the memory is still held.
  bool unmapped(std::size_t slot) const { return unmapped_[slot]; }
  // Whether map() got half way: work may not touch the frame.
  bool half_mapped(std::size_t slot) const { return half_mapped_[slot]; }

  // The slot's addresses may be used again once this canary has passed (pager::Canary, counted from 1; 0: at once).
  void quarantine(std::size_t slot, std::uint64_t canary) { clean_after_[slot] = canary; }
  std::uint64_t clean_after(std::size_t slot) const { return clean_after_[slot]; }

  std::uint64_t mapping_calls() const { return mapping_calls_.load(std::memory_order_relaxed); }

 private:
  driver::Driver& driver_;
  int device_;
  Bytes frame_bytes_;
  cu::DevicePtr base_ = 0;
  bool plain_ = false;
  std::vector<State> states_;
  std::vector<cu::MemHandle> handles_;
  // Touched by one thread at a time and slot by slot without the pager's lock, hence no bits.
  std::vector<std::uint8_t> half_mapped_;  // created and mapped, access refused so far
  std::vector<std::uint8_t> unmapped_;     // unmapped, not released yet
  std::vector<std::uint64_t> clean_after_;
  std::size_t held_ = 0;
  std::size_t peak_ = 0;
  std::atomic<std::uint64_t> mapping_calls_{0};  // counted without the pager's lock
};

}  // namespace tidegate::pager
