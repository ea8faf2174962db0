// Vector clocks: who has seen what. A slot is one stream of one process; its epoch counts the stream's operations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tidegate::sim {

using Epoch = std::uint64_t;

struct Stamp {  // one operation
  std::uint32_t slot = 0;
  Epoch epoch = 0;
  bool operator==(const Stamp&) const = default;
};

class VectorClock {
 public:
  Epoch at(std::uint32_t slot) const { return slot < epochs_.size() ? epochs_[slot] : 0; }
  bool covers(Stamp stamp) const { return at(stamp.slot) >= stamp.epoch; }

  void raise(Stamp stamp) {
    if (stamp.slot >= epochs_.size()) epochs_.resize(stamp.slot + 1, 0);
    epochs_[stamp.slot] = std::max(epochs_[stamp.slot], stamp.epoch);
  }

  // True if that changed anything.
  bool join(const VectorClock& other) {
    if (other.epochs_.size() > epochs_.size()) epochs_.resize(other.epochs_.size(), 0);
    bool changed = false;
    for (std::size_t i = 0; i < other.epochs_.size(); ++i) {
      if (other.epochs_[i] > epochs_[i]) {
        epochs_[i] = other.epochs_[i];
        changed = true;
      }
    }
    return changed;
  }

 private:
  std::vector<Epoch> epochs_;
};

// Keeps per slot the latest of the stamps added.
inline void add_latest(std::vector<Stamp>& stamps, Stamp stamp) {
  for (Stamp& known : stamps) {
    if (known.slot == stamp.slot) {
      known.epoch = std::max(known.epoch, stamp.epoch);
      return;
    }
  }
  stamps.push_back(stamp);
}

}  // namespace tidegate::sim
