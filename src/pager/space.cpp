#include "src/pager/space.h"

#include <cassert>

namespace tidegate::pager {

Space::Map::iterator Space::split(Bytes offset) {
  if (offset == size()) return segments_.end();
  auto it = find(offset);
  if (it->first == offset) return it;
  assert(it->second.block == kNoBlock && "a block's segment is never split");
  Segment tail = it->second;
  tail.bytes -= offset - it->first;
  it->second.bytes = offset - it->first;
  return segments_.emplace(offset, std::move(tail)).first;
}

std::vector<Piece> Space::place(Bytes offset, Bytes bytes, BlockId block) {
  std::vector<Piece> pieces;
  split(offset + bytes);
  auto it = split(offset);
  while (it != segments_.end() && it->first < offset + bytes) {
    assert(it->second.block == kNoBlock);
    pieces.push_back({it->first, it->second.bytes, std::move(it->second.uses), it->second.copy});
    it = segments_.erase(it);
  }
  segments_.emplace_hint(it, offset, Segment{bytes, block, {}, 0});
  return pieces;
}

void Space::vacate(Bytes offset, UseSet uses, std::uint64_t copy) {
  auto it = segments_.find(offset);
  assert(it != segments_.end() && it->second.block != kNoBlock);
  it->second.block = kNoBlock;
  it->second.uses = std::move(uses);
  it->second.copy = copy;
}

Space::Map::iterator Space::join(Map::iterator it) {
  const auto untouched = [](const Segment& segment) {
    return segment.block == kNoBlock && segment.uses.empty() && segment.copy == 0;
  };
  if (it != segments_.begin()) {
    const auto before = std::prev(it);
    if (untouched(before->second)) {
      before->second.bytes += it->second.bytes;
      segments_.erase(it);
      it = before;
    }
  }
  auto after = std::next(it);
  if (after != segments_.end() && untouched(after->second)) {
    it->second.bytes += after->second.bytes;
    after = segments_.erase(after);
  }
  return after;
}

}  // namespace tidegate::pager
