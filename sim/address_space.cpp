#include "sim/address_space.h"

#include <algorithm>
#include <iterator>

namespace tidegate::sim {

bool AddressSpace::vacant(cu::DevicePtr begin, Bytes bytes) const {
  if (begin < base_ || bytes > size_ || begin - base_ > size_ - bytes) return false;
  const auto next = reservations_.lower_bound(begin);
  if (next != reservations_.end() && next->first < begin + bytes) return false;
  if (next == reservations_.begin()) return true;
  const auto before = std::prev(next);
  return before->first + before->second <= begin;
}

cu::DevicePtr AddressSpace::first_fit(cu::DevicePtr from, Bytes bytes, Bytes alignment) const {
  cu::DevicePtr at = round_up(from, alignment);
  auto next = reservations_.upper_bound(at);
  if (next != reservations_.begin()) {
    const auto before = std::prev(next);
    at = std::max(at, round_up(before->first + before->second, alignment));
  }
  for (; next != reservations_.end() && next->first < at + bytes; ++next) {
    at = std::max(at, round_up(next->first + next->second, alignment));
  }
  return vacant(at, bytes) ? at : 0;
}

cu::DevicePtr AddressSpace::reserve(Bytes bytes, Bytes alignment, cu::DevicePtr hint) {
  if (bytes == 0 || bytes > size_) return 0;
  cu::DevicePtr at = 0;
  if (hint != 0 && hint % alignment == 0 && vacant(hint, bytes)) {
    at = hint;
  } else {
    at = first_fit(reuse_ ? base_ : next_, bytes, alignment);
    if (at == 0) at = first_fit(base_, bytes, alignment);
    if (at == 0) return 0;
    next_ = at + bytes;
  }
  reservations_[at] = bytes;
  return at;
}

bool AddressSpace::unreserve(cu::DevicePtr begin, Bytes bytes) {
  const auto found = reservations_.find(begin);
  if (found == reservations_.end() || found->second != bytes || count(begin, bytes) > 0) return false;
  reservations_.erase(found);
  return true;
}

bool AddressSpace::reserved(cu::DevicePtr begin, Bytes bytes) const {
  auto found = reservations_.upper_bound(begin);
  if (found == reservations_.begin()) return false;
  --found;
  return bytes <= found->second && begin - found->first <= found->second - bytes;
}

bool AddressSpace::map(std::shared_ptr<Mapping> mapping) {
  if (count(mapping->va, mapping->size) > 0) return false;
  const cu::DevicePtr va = mapping->va;
  mappings_.emplace(va, std::move(mapping));
  return true;
}

void AddressSpace::unmap(const Mapping& mapping) {
  mappings_.erase(mapping.va);
  cu::DevicePtr begin = mapping.va;
  cu::DevicePtr end = mapping.end();
  auto next = used_.upper_bound(begin);
  if (next != used_.begin() && std::prev(next)->second >= begin) --next;
  while (next != used_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = used_.erase(next);
  }
  used_[begin] = end;
}

Bytes AddressSpace::used_before(cu::DevicePtr begin, Bytes bytes) const {
  Bytes sum = 0;
  auto range = used_.upper_bound(begin);
  if (range != used_.begin()) --range;
  for (; range != used_.end() && range->first < begin + bytes; ++range) {
    const cu::DevicePtr from = std::max(begin, range->first);
    const cu::DevicePtr to = std::min(begin + bytes, range->second);
    if (from < to) sum += to - from;
  }
  return sum;
}

std::vector<std::shared_ptr<Mapping>> AddressSpace::whole(cu::DevicePtr begin, Bytes bytes) const {
  std::vector<std::shared_ptr<Mapping>> found;
  cu::DevicePtr at = begin;
  for (auto it = mappings_.find(begin); it != mappings_.end() && it->first == at && at < begin + bytes; ++it) {
    found.push_back(it->second);
    at = it->second->end();
  }
  if (at != begin + bytes) found.clear();
  return found;
}

std::size_t AddressSpace::count(cu::DevicePtr begin, Bytes bytes) const {
  std::size_t n = find(begin) != nullptr && find_start(begin) == nullptr ? 1 : 0;
  for (auto it = mappings_.lower_bound(begin); it != mappings_.end() && it->first < begin + bytes; ++it) ++n;
  return n;
}

std::shared_ptr<Mapping> AddressSpace::find(cu::DevicePtr address) const {
  auto found = mappings_.upper_bound(address);
  if (found == mappings_.begin()) return nullptr;
  --found;
  return address < found->second->end() ? found->second : nullptr;
}

std::shared_ptr<Mapping> AddressSpace::find_start(cu::DevicePtr address) const {
  const auto found = mappings_.find(address);
  return found == mappings_.end() ? nullptr : found->second;
}

AddressSpace::Found AddressSpace::resolve(cu::DevicePtr begin, Bytes bytes, int card, cu::MemAccessFlags need,
                                          std::vector<Span>& spans, cu::DevicePtr& at) const {
  at = begin;
  auto it = mappings_.upper_bound(begin);
  if (it != mappings_.begin()) --it;
  for (Bytes left = bytes; left > 0; ++it) {
    if (it == mappings_.end() || it->first > at || at >= it->second->end()) return Found::kUnmapped;
    const Mapping& mapping = *it->second;
    if ((mapping.access[static_cast<std::size_t>(card)] & need) != need) return Found::kNoAccess;
    const Bytes skip = at - mapping.va;
    const Bytes part = std::min(left, mapping.size - skip);
    spans.push_back({it->second, mapping.block_offset + skip, part});
    at += part;
    left -= part;
  }
  return Found::kOk;
}

}  // namespace tidegate::sim
