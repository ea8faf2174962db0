// One process's device addresses: what is reserved, what is mapped where.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/physical.h"

namespace tidegate::sim {

class AddressSpace {
 public:
  // Addresses are handed out in [base, base + size), upwards; freed ones come again only after all others did, so that
  // a stale address is met as unmapped rather than as somebody else's bytes; with `reuse` they are the first to come.
  AddressSpace(cu::DevicePtr base, Bytes size, bool reuse) : base_(base), size_(size), reuse_(reuse), next_(base) {}

  // 0: no room. `alignment` is a power of two.
  cu::DevicePtr reserve(Bytes bytes, Bytes alignment, cu::DevicePtr hint);
  // False: no reservation of exactly that range, or something is mapped in it.
  bool unreserve(cu::DevicePtr begin, Bytes bytes);
  bool reserved(cu::DevicePtr begin, Bytes bytes) const;  // within one reservation

  // False: something is mapped in that range already.
  bool map(std::shared_ptr<Mapping> mapping);
  void unmap(const Mapping& mapping);
  // How many bytes of [begin, begin + bytes) were mapped once and then unmapped.
  Bytes used_before(cu::DevicePtr begin, Bytes bytes) const;

  // The mappings that make up [begin, begin + bytes) exactly, whole and without gaps; empty if they do not.
  std::vector<std::shared_ptr<Mapping>> whole(cu::DevicePtr begin, Bytes bytes) const;
  std::size_t count(cu::DevicePtr begin, Bytes bytes) const;

  // The mapping that holds `address`, or null.
  std::shared_ptr<Mapping> find(cu::DevicePtr address) const;
  std::shared_ptr<Mapping> find_start(cu::DevicePtr address) const;

  enum class Found : std::uint8_t { kOk, kUnmapped, kNoAccess };
  // The spans of [begin, begin + bytes), appended. `need`: kAccessRead or kAccessReadWrite. On failure `at` is the
  // first address that does not answer.
  Found resolve(cu::DevicePtr begin, Bytes bytes, int card, cu::MemAccessFlags need, std::vector<Span>& spans,
                cu::DevicePtr& at) const;

  const std::map<cu::DevicePtr, std::shared_ptr<Mapping>>& mappings() const { return mappings_; }
  std::size_t reservation_count() const { return reservations_.size(); }

 private:
  cu::DevicePtr first_fit(cu::DevicePtr from, Bytes bytes, Bytes alignment) const;
  bool vacant(cu::DevicePtr begin, Bytes bytes) const;

  cu::DevicePtr base_;
  Bytes size_;
  bool reuse_;
  cu::DevicePtr next_;
  std::map<cu::DevicePtr, Bytes> reservations_;
  std::map<cu::DevicePtr, std::shared_ptr<Mapping>> mappings_;
  std::map<cu::DevicePtr, cu::DevicePtr> used_;  // begin to end, apart: where mappings have been
};

}  // namespace tidegate::sim
