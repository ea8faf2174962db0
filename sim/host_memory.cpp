#include "sim/host_memory.h"

#include <algorithm>

namespace tidegate::sim {

namespace {
std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
void* pointer_to(std::uintptr_t address) { return reinterpret_cast<void*>(address); }  // NOLINT: one we were given
}  // namespace

bool DeclaredMemory::declare(const void* base, Bytes size, std::uint64_t tag, std::vector<RealRange> real,
                             bool pinned) {
  const std::uintptr_t begin = address_of(base);
  if (size == 0 || begin + size < begin) return false;
  Bytes last = 0;
  for (const RealRange& part : real) {
    if (part.offset < last || part.length == 0 || part.offset > size || part.length > size - part.offset) return false;
    last = part.offset + part.length;
  }
  const auto next = first_after(begin);
  if (next != ranges_.end() && next->first < begin + size) return false;
  ranges_.emplace(begin, Range{size, tag, std::move(real), pinned});
  return true;
}

bool DeclaredMemory::undeclare(const void* base) { return ranges_.erase(address_of(base)) > 0; }

DeclaredMemory::Ranges::const_iterator DeclaredMemory::first_after(std::uintptr_t address) const {
  auto found = ranges_.upper_bound(address);
  if (found != ranges_.begin()) {
    const auto before = std::prev(found);
    if (before->first + before->second.size > address) return before;
  }
  return found;
}

void DeclaredMemory::pieces(const void* begin, Bytes bytes, std::vector<Piece>& pieces) const {
  std::uintptr_t at = address_of(begin);
  const std::uintptr_t end = at + bytes;
  const auto add_real = [&](std::uintptr_t to) {
    if (to <= at) return;
    const auto* data = static_cast<const unsigned char*>(begin) + (at - address_of(begin));
    pieces.push_back({PieceKind::kBytes, 0, 0, 0, data, to - at});
    at = to;
  };
  for (auto it = first_after(at); it != ranges_.end() && it->first < end; ++it) {
    const std::uintptr_t base = it->first;
    const Range& range = it->second;
    const std::uintptr_t range_end = std::min(end, base + range.size);
    add_real(std::max(at, base));
    const auto add_tag = [&](std::uintptr_t to) {
      if (to <= at) return;
      pieces.push_back({PieceKind::kTag, 0, range.tag, at - base, nullptr, to - at});
      at = to;
    };
    // The first real part that ends after `at`: parts are ordered and apart.
    auto part = std::partition_point(range.real.begin(), range.real.end(), [&](const RealRange& candidate) {
      return base + candidate.offset + candidate.length <= at;
    });
    for (; part != range.real.end() && base + part->offset < range_end; ++part) {
      add_tag(base + part->offset);
      add_real(std::min(range_end, base + part->offset + part->length));
    }
    add_tag(range_end);
  }
  add_real(end);
}

bool DeclaredMemory::pinned(const void* begin, Bytes bytes) const {
  std::uintptr_t at = address_of(begin);
  const std::uintptr_t end = at + bytes;
  for (auto it = first_after(at); it != ranges_.end() && it->first <= at && it->second.pinned; ++it) {
    at = it->first + it->second.size;
    if (at >= end) return true;
  }
  return false;
}

bool DeclaredMemory::touches_tag(const void* begin, Bytes bytes) const {
  std::vector<Piece> found;
  pieces(begin, bytes, found);
  return std::any_of(found.begin(), found.end(), [](const Piece& piece) { return piece.kind == PieceKind::kTag; });
}

PinnedMemory::~PinnedMemory() { clear(); }

void PinnedMemory::clear() {
  for (const auto& [base, range] : ranges_) {
    if (range.kind == Kind::kAllocated) host_.release(pointer_to(base));
  }
  ranges_.clear();
  bytes_ = 0;
}

void* PinnedMemory::allocate(Bytes size) {
  void* memory = host_.allocate(size);
  if (memory == nullptr || overlaps(address_of(memory), size)) return nullptr;
  ranges_[address_of(memory)] = {size, Kind::kAllocated};
  bytes_ += size;
  return memory;
}

bool PinnedMemory::overlaps(std::uintptr_t begin, Bytes size) const {
  if (begin + size < begin) return true;
  const auto next = ranges_.upper_bound(begin);
  if (next != ranges_.end() && next->first < begin + size) return true;
  if (next == ranges_.begin()) return false;
  const auto before = std::prev(next);
  return before->first + before->second.size > begin;
}

bool PinnedMemory::add_registered(void* base, Bytes size) {
  const std::uintptr_t begin = address_of(base);
  if (overlaps(begin, size)) return false;
  ranges_[begin] = {size, Kind::kRegistered};
  bytes_ += size;
  return true;
}

const PinnedMemory::Range* PinnedMemory::find(const void* base) const {
  const auto found = ranges_.find(address_of(base));
  return found == ranges_.end() ? nullptr : &found->second;
}

void PinnedMemory::remove(const void* base) {
  const auto found = ranges_.find(address_of(base));
  if (found == ranges_.end()) return;
  bytes_ -= found->second.size;
  if (found->second.kind == Kind::kAllocated) host_.release(pointer_to(found->first));
  ranges_.erase(found);
}

bool PinnedMemory::covers(const void* begin, Bytes bytes) const {
  const std::uintptr_t at = address_of(begin);
  auto found = ranges_.upper_bound(at);
  if (found == ranges_.begin()) return false;
  --found;
  const Bytes offset = at - found->first;
  return offset <= found->second.size && bytes <= found->second.size - offset;
}

}  // namespace tidegate::sim
