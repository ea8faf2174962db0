// Who may still be using some bytes: pairs of (stream, epoch), at most one per stream.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tidegate::pager {

struct Use {
  std::uint16_t slot = 0;   // of the stream
  std::uint64_t epoch = 0;  // the use is over once this epoch of the stream is complete
};

// A use in one word, for the release path: 0 means none. 16 bits of slot, 48 of epoch (at one epoch per microsecond
// that lasts nine years).
constexpr std::uint64_t pack(Use use) { return (std::uint64_t{use.slot} + 1) << 48 | use.epoch; }
constexpr Use unpack(std::uint64_t word) {
  return {static_cast<std::uint16_t>((word >> 48) - 1), word & ((std::uint64_t{1} << 48) - 1)};
}

class UseSet {
 public:
  // Keeps the later epoch of a stream that is there already.
  void add(Use use) {
    for (std::uint32_t i = 0; i < inline_count_; ++i) {
      if (raise(inline_[i], use)) return;
    }
    for (Use& other : more_) {
      if (raise(other, use)) return;
    }
    if (inline_count_ < inline_.size()) {
      inline_[inline_count_++] = use;
    } else {
      more_.push_back(use);
    }
  }
  void add(const UseSet& other) {
    other.for_each([this](Use use) { add(use); });
  }
  void clear() {
    inline_count_ = 0;
    more_.clear();
  }
  bool empty() const { return inline_count_ == 0; }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = 0; i < inline_count_; ++i) visit(inline_[i]);
    for (const Use& use : more_) visit(use);
  }

 private:
  static bool raise(Use& mine, Use use) {
    if (mine.slot != use.slot) return false;
    if (use.epoch > mine.epoch) mine.epoch = use.epoch;
    return true;
  }

  std::array<Use, 2> inline_{};  // nearly every block is used by one stream
  std::uint32_t inline_count_ = 0;
  std::vector<Use> more_;
};

}  // namespace tidegate::pager
