// Memory cut into small pieces: chunks of physical memory, each with a map of what is free.
//
// Pure bookkeeping over addresses; who calls it provides and takes back the chunks.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "src/driver/cuda_abi.h"
#include "tidegate/bytes.h"

namespace tidegate::sim {

class SubAllocator {
 public:
  static constexpr Bytes kGrain = 512;

  void add_chunk(cu::DevicePtr begin, Bytes size);
  // First fit; nullopt if no chunk has room.
  std::optional<cu::DevicePtr> take(Bytes bytes);
  void put(cu::DevicePtr begin, Bytes bytes);
  // A chunk of which nothing is taken, removed from the books; nullopt if there is none.
  std::optional<std::pair<cu::DevicePtr, Bytes>> take_empty_chunk();
  // The chunk that holds the address.
  cu::DevicePtr chunk_of(cu::DevicePtr address) const;
  Bytes chunk_bytes() const { return chunk_bytes_; }
  const std::map<cu::DevicePtr, Bytes>& chunks() const { return chunks_; }

 private:
  std::map<cu::DevicePtr, Bytes> chunks_;
  std::map<cu::DevicePtr, Bytes> free_;  // never across chunks
  Bytes chunk_bytes_ = 0;
};

}  // namespace tidegate::sim
