// The arena's address map: which bytes belong to which block, and who may still be using bytes that belong to none.
#pragma once

#include <map>
#include <vector>

#include "src/pager/plan.h"
#include "src/pager/uses.h"
#include "tidegate/pager.h"

namespace tidegate::pager {

inline constexpr BlockId kNoBlock = ~BlockId{0};

struct Segment {
  Bytes bytes = 0;
  BlockId block = kNoBlock;  // kNoBlock: free
  UseSet uses;               // free: the earlier tenants' last uses
  std::uint64_t copy = 0;    // free: the last copy (by sequence number) that reads or writes these bytes
};

struct Piece {
  Bytes offset = 0;
  Bytes bytes = 0;
  UseSet uses;
  std::uint64_t copy = 0;
};

// Segments tile [0, size) without gaps. Not thread-safe: the pager's lock guards it.
class Space {
 public:
  explicit Space(Bytes size) { segments_[0] = Segment{size, kNoBlock, {}, 0}; }

  Bytes size() const { return segments_.rbegin()->first + segments_.rbegin()->second.bytes; }
  const std::map<Bytes, Segment>& segments() const { return segments_; }

  // Calls visit(offset, segment) for each segment that overlaps [offset, offset + bytes), in order, until it answers
  // false. Answers whether all answered true.
  template <typename Visit>
  bool all_of(Bytes offset, Bytes bytes, Visit visit) const {
    for (auto it = find(offset); it != segments_.end() && it->first < offset + bytes; ++it) {
      if (!visit(it->first, it->second)) return false;
    }
    return true;
  }

  // Gives [offset, offset + bytes), all of it free, to the block. Returns the free pieces that it was made of.
  std::vector<Piece> place(Bytes offset, Bytes bytes, BlockId block);
  // The block's segment at `offset` becomes free; `uses` and `copy` say what may still touch it.
  void vacate(Bytes offset, UseSet uses, std::uint64_t copy);
  // Forgets, in the free segments that overlap the range, the uses and copies for which `over` answers true, and joins
  // free neighbours that nothing touches.
  template <typename Over>
  void settle(Bytes offset, Bytes bytes, Over over) {
    auto it = find(offset);
    while (it != segments_.end() && it->first < offset + bytes) {
      Segment& segment = it->second;
      if (segment.block == kNoBlock && over(segment)) {
        segment.uses.clear();
        segment.copy = 0;
        it = join(it);
      } else {
        ++it;
      }
    }
  }

 private:
  using Map = std::map<Bytes, Segment>;
  Map::const_iterator find(Bytes offset) const { return std::prev(segments_.upper_bound(offset)); }
  Map::iterator find(Bytes offset) { return std::prev(segments_.upper_bound(offset)); }
  // Makes a segment begin at `offset`.
  Map::iterator split(Bytes offset);
  Map::iterator join(Map::iterator it);  // with untouched free neighbours; answers the one after

  Map segments_;
};

}  // namespace tidegate::pager
