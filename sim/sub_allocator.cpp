#include "sim/sub_allocator.h"

#include <iterator>

namespace tidegate::sim {

void SubAllocator::add_chunk(cu::DevicePtr begin, Bytes size) {
  chunks_[begin] = size;
  free_[begin] = size;
  chunk_bytes_ += size;
}

std::optional<cu::DevicePtr> SubAllocator::take(Bytes bytes) {
  const Bytes need = round_up(bytes, kGrain);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < need) continue;
    const cu::DevicePtr begin = it->first;
    const Bytes left = it->second - need;
    free_.erase(it);
    if (left > 0) free_[begin + need] = left;
    return begin;
  }
  return std::nullopt;
}

cu::DevicePtr SubAllocator::chunk_of(cu::DevicePtr address) const {
  return std::prev(chunks_.upper_bound(address))->first;
}

void SubAllocator::put(cu::DevicePtr begin, Bytes bytes) {
  Bytes size = round_up(bytes, kGrain);
  const cu::DevicePtr chunk = chunk_of(begin);
  auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin && before->first >= chunk) {
      begin = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && begin + size == next->first && next->first < chunk + chunks_[chunk]) {
    size += next->second;
    free_.erase(next);
  }
  free_[begin] = size;
}

std::optional<std::pair<cu::DevicePtr, Bytes>> SubAllocator::take_empty_chunk() {
  for (auto it = chunks_.begin(); it != chunks_.end(); ++it) {
    const std::pair<cu::DevicePtr, Bytes> chunk = *it;
    const auto found = free_.find(chunk.first);
    if (found == free_.end() || found->second != chunk.second) continue;
    free_.erase(found);
    chunks_.erase(it);
    chunk_bytes_ -= chunk.second;
    return chunk;
  }
  return std::nullopt;
}

}  // namespace tidegate::sim
