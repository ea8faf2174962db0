// Host memory as the simulated machine sees it: what is pinned, and what is declared to hold tags.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/content.h"
#include "sim/host_access.h"

namespace tidegate::sim {

// A part of a declared range that holds real bytes, relative to its base.
struct RealRange {
  Bytes offset = 0;
  Bytes length = 0;
};

// Declared ranges: host address space whose content is a tag, except in real sub-ranges. The tagged part is never read,
// so it may be reserved address space without access.
class DeclaredMemory {
 public:
  // False: the range overlaps another one, is empty, or a real range lies outside of it or out of order.
  bool declare(const void* base, Bytes size, std::uint64_t tag, std::vector<RealRange> real, bool pinned);
  bool undeclare(const void* base);

  // What [begin, begin + bytes) holds, in order; undeclared parts are real bytes. Appends to `pieces`.
  void pieces(const void* begin, Bytes bytes, std::vector<Piece>& pieces) const;

  // Whether all of it is declared, and as pinned.
  bool pinned(const void* begin, Bytes bytes) const;
  // Whether a write to it would change a declared tag.
  bool touches_tag(const void* begin, Bytes bytes) const;

 private:
  struct Range {
    Bytes size = 0;
    std::uint64_t tag = 0;
    std::vector<RealRange> real;
    bool pinned = false;
  };
  using Ranges = std::map<std::uintptr_t, Range>;
  // The first range that ends after `address`.
  Ranges::const_iterator first_after(std::uintptr_t address) const;

  Ranges ranges_;
};

// One process's page-locked memory.
class PinnedMemory {
 public:
  // `host` must outlive it; it makes what allocate() answers.
  explicit PinnedMemory(HostAccess& host) : host_(host) {}
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  enum class Kind : std::uint8_t { kAllocated, kRegistered };
  struct Range {
    Bytes size = 0;
    Kind kind = Kind::kAllocated;
  };

  void* allocate(Bytes size);                         // null: refused
  bool add_registered(void* base, Bytes size);        // false: overlaps pinned memory
  const Range* find(const void* base) const;          // that begins there
  void remove(const void* base);                      // frees what allocate() made
  bool covers(const void* begin, Bytes bytes) const;  // by one range
  void clear();
  Bytes bytes() const { return bytes_; }

 private:
  bool overlaps(std::uintptr_t begin, Bytes size) const;

  HostAccess& host_;
  std::map<std::uintptr_t, Range> ranges_;
  Bytes bytes_ = 0;
};

}  // namespace tidegate::sim
