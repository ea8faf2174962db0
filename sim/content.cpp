#include "sim/content.h"

#include <algorithm>
#include <cstring>

#include "src/base/checksum.h"

namespace tidegate::sim {

namespace {
// Odd multipliers (the first 64-bit primes of xxHash): they keep a tag run's four numbers apart.
constexpr std::uint64_t kTagFactor = 0x9E3779B185EBCA87ull;
constexpr std::uint64_t kSourceFactor = 0xC2B2AE3D27D4EB4Full;
constexpr std::uint64_t kPositionFactor = 0x165667B19E3779F9ull;
}  // namespace

void Content::put(Bytes at, const Piece& piece, HostAccess& host) {
  Body body{piece.kind, 0, 0, 0};
  switch (piece.kind) {
    case PieceKind::kUnwritten:
      break;
    case PieceKind::kFill:
      body.fill = piece.fill;
      if (backing_.shared()) std::memset(backing_.data() + at, piece.fill, piece.length);
      break;
    case PieceKind::kTag:
      body.tag = piece.tag;
      body.delta = piece.source_offset - at;
      break;
    case PieceKind::kBytes: {
      unsigned char* base = backing_.ensure(map_.size());
      // Without memory for it, or a source: the next reader is told.
      if (base == nullptr || !host.read(base + at, piece.data, piece.length)) body.kind = PieceKind::kUnwritten;
      break;
    }
  }
  map_.assign(at, at + piece.length, body);
}

int Content::share(Bytes begin, Bytes end) {
  bool tags = false;
  map_.for_each(begin, end, [&](Bytes, Bytes, const Body& body) { tags = tags || body.kind == PieceKind::kTag; });
  if (tags || backing_.ensure(map_.size()) == nullptr) return -1;
  // Fills of the whole allocation, so that what is shared never lacks them.
  map_.for_each(0, map_.size(), [&](Bytes from, Bytes to, const Body& body) {
    if (body.kind == PieceKind::kFill) std::memset(backing_.data() + from, body.fill, to - from);
  });
  return backing_.share(map_.size());
}

void ChecksumSum::add(const Piece& piece) {
  if (piece.length == 0) return;
  if (piece.kind == PieceKind::kBytes || piece.kind == PieceKind::kFill) {
    flush_tag();
    if (piece.kind == PieceKind::kBytes) {
      add_bytes(piece.data, piece.length);
    } else {
      add_fill(piece.fill, piece.length);
    }
    return;
  }
  flush_word();
  if (piece.kind == PieceKind::kUnwritten) {
    flush_tag();
  } else if (tag_open_ && tag_ == piece.tag && tag_source_ + tag_length_ == piece.source_offset) {
    tag_length_ += piece.length;
  } else {
    flush_tag();
    tag_open_ = true;
    tag_ = piece.tag;
    tag_source_ = piece.source_offset;
    tag_begin_ = position_;
    tag_length_ = piece.length;
  }
  position_ += piece.length;
}

std::uint64_t ChecksumSum::finish() {
  flush_tag();
  flush_word();
  return sum_;
}

void ChecksumSum::add_byte(unsigned char value) {
  word_ |= std::uint64_t{value} << (8 * (position_ % 8));
  word_open_ = true;
  if (++position_ % 8 == 0) flush_word();
}

void ChecksumSum::add_bytes(const unsigned char* data, Bytes length) {
  while (length > 0 && position_ % 8 != 0) {
    add_byte(*data++);
    --length;
  }
  const Bytes whole = round_down(length, 8);
  sum_ += base::checksum(data, whole, position_ / 8);
  position_ += whole;
  for (Bytes i = whole; i < length; ++i) add_byte(data[i]);
}

void ChecksumSum::add_fill(unsigned char value, Bytes length) {
  unsigned char block[4096];
  std::memset(block, value, static_cast<std::size_t>(std::min<Bytes>(length, sizeof block)));
  for (Bytes done = 0; done < length;) {
    const Bytes part = std::min<Bytes>(length - done, sizeof block);
    add_bytes(block, part);
    done += part;
  }
}

void ChecksumSum::flush_word() {
  if (!word_open_) return;
  const Bytes index = position_ % 8 == 0 ? position_ / 8 : position_ / 8 + 1;  // one-based, as base::checksum counts
  sum_ += base::mix64(word_ + index * base::kGolden);
  word_ = 0;
  word_open_ = false;
}

void ChecksumSum::flush_tag() {
  if (!tag_open_) return;
  sum_ += base::mix64(tag_ * kTagFactor + tag_source_ * kSourceFactor + tag_begin_ * kPositionFactor + tag_length_);
  tag_open_ = false;
}

}  // namespace tidegate::sim
