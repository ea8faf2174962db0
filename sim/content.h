// What the bytes of a physical allocation are: never written, real bytes, one repeated byte, or a tag.
//
// A tag stands for content that nobody can or need hold: byte i of a tagged run is "byte source_offset + i of tag".
// Tags make a simulated card of any size cost nothing, and still show every misplaced byte.
#pragma once

#include <cstdint>

#include "sim/backing.h"
#include "sim/host_access.h"
#include "sim/interval_map.h"

namespace tidegate::sim {

enum class PieceKind : std::uint8_t { kUnwritten, kBytes, kFill, kTag };

struct Piece {  // one run of content, clipped to what was asked for
  PieceKind kind = PieceKind::kUnwritten;
  unsigned char fill = 0;               // kFill
  std::uint64_t tag = 0;                // kTag
  Bytes source_offset = 0;              // kTag
  const unsigned char* data = nullptr;  // kBytes
  Bytes length = 0;
};

class Content {
 public:
  explicit Content(Bytes size) : map_(size, Body{}) {}

  // Stores `piece` (its data copied) at [at, at + piece.length). `host`: its data are an address there, and are left
  // unwritten where they cannot be read.
  void put(Bytes at, const Piece& piece, HostAccess& host = direct_host_access());

  // Calls visit(Piece) for each run in [begin, end), in order. Data pointers hold until the content is destroyed.
  template <typename F>
  void for_each(Bytes begin, Bytes end, F&& visit) const {
    map_.for_each(begin, end, [&](Bytes from, Bytes to, const Body& body) {
      Piece piece{body.kind, body.fill, body.tag, 0, nullptr, to - from};
      if (body.kind == PieceKind::kTag) piece.source_offset = body.delta + from;
      if (body.kind == PieceKind::kBytes) piece.data = backing_.data() + from;
      visit(piece);
    });
  }

  // Makes [begin, end) real bytes that other processes may map (Backing::share), and keeps them so, at the same
  // offsets. Negative: part of it is a tag, which has no bytes, or the system cannot.
  int share(Bytes begin, Bytes end);
  const unsigned char* bytes() const { return backing_.data(); }

  std::size_t run_count() const { return map_.run_count(); }

 private:
  struct Body {
    PieceKind kind = PieceKind::kUnwritten;
    unsigned char fill = 0;
    std::uint64_t tag = 0;
    Bytes delta = 0;  // source offset less position, modulo 2^64: the same along a run
    bool operator==(const Body&) const = default;
  };

  IntervalMap<Body> map_;
  Backing backing_;
};

// Sums the checksum of content that is fed to it in order of position; see Machine::expected_checksum.
class ChecksumSum {
 public:
  void add(const Piece& piece);
  std::uint64_t finish();

 private:
  void add_bytes(const unsigned char* data, Bytes length);
  void add_fill(unsigned char value, Bytes length);
  void add_byte(unsigned char value);
  void flush_word();
  void flush_tag();

  std::uint64_t sum_ = 0;
  Bytes position_ = 0;
  std::uint64_t word_ = 0;  // the bytes so far of the word that position_ lies in
  bool word_open_ = false;
  bool tag_open_ = false;
  std::uint64_t tag_ = 0;
  Bytes tag_source_ = 0;
  Bytes tag_begin_ = 0;
  Bytes tag_length_ = 0;
};

}  // namespace tidegate::sim
