// A model of seeded bytes, and where the pager put its weights.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/checksum.h"
#include "src/driver/driver.h"
#include "tidegate/pager.h"

namespace tidegate::testkit {

struct SeededWeight {
  std::byte* host = nullptr;
  Bytes bytes = 0;
  std::uint64_t sum = 0;
  WeightPlace place;
};

// Owns its host memory: pinned by `driver`, or ordinary. Outlives the pager's model of it.
class SeededModel {
 public:
  SeededModel(driver::Driver& driver, std::uint64_t seed, const std::vector<Bytes>& sizes, bool pinned)
      : driver_(driver), pinned_(pinned) {
    Bytes total = 0;
    for (const Bytes size : sizes) total += round_up(size, 64);
    if (pinned) {
      void* memory = nullptr;
      if (driver.mem_host_alloc(&memory, total, 0) != cu::kSuccess) return;
      memory_ = static_cast<std::byte*>(memory);
    } else {
      ordinary_.resize(total);
      memory_ = ordinary_.data();
    }
    base::Random random(seed);
    for (Bytes at = 0; at + 8 <= total; at += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(memory_ + at, &word, 8);
    }
    Bytes at = 0;
    for (const Bytes size : sizes) {
      weights_.push_back({memory_ + at, size, base::checksum(memory_ + at, size), {}});
      at += round_up(size, 64);
    }
  }
  ~SeededModel() {
    if (pinned_ && memory_ != nullptr) (void)driver_.mem_free_host(memory_);
  }
  SeededModel(const SeededModel&) = delete;
  SeededModel& operator=(const SeededModel&) = delete;

  ModelSpec spec(std::string name, int priority = 0) const {
    ModelSpec made{std::move(name), {}, priority};
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      made.weights.push_back({"w" + std::to_string(i), weights_[i].bytes, weights_[i].host});
    }
    return made;
  }

  // After Pager::add_model: asks where everything lies.
  void added(const Pager& pager, ModelId id) {
    id_ = id;
    blocks_.clear();
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i].place = pager.place(id, i);
      const BlockId block = weights_[i].place.block;
      Block* found = nullptr;
      for (Block& known : blocks_) {
        if (known.id == block) found = &known;
      }
      if (found == nullptr) found = &blocks_.emplace_back(Block{block, pager.block_bytes(block), 0, {}});
      found->weights.push_back(i);
      found->used = std::max(found->used, weights_[i].place.offset + weights_[i].bytes);
    }
  }

  struct Block {
    BlockId id = 0;
    Bytes bytes = 0;
    Bytes used = 0;                    // what its weights take, gaps between them included
    std::vector<std::size_t> weights;  // indices into weights()
  };
  ModelId id() const { return id_; }
  const std::vector<SeededWeight>& weights() const { return weights_; }
  const std::vector<Block>& blocks() const { return blocks_; }  // in order of use
  Bytes largest_block() const {
    Bytes largest = 0;
    for (const Block& block : blocks_) largest = block.bytes > largest ? block.bytes : largest;
    return largest;
  }
  Bytes bytes() const {
    Bytes sum = 0;
    for (const Block& block : blocks_) sum += block.bytes;
    return sum;
  }

 private:
  driver::Driver& driver_;
  bool pinned_;
  std::byte* memory_ = nullptr;
  std::vector<std::byte> ordinary_;
  std::vector<SeededWeight> weights_;
  std::vector<Block> blocks_;
  ModelId id_ = 0;
};

}  // namespace tidegate::testkit
