// A map from every byte of [0, size) to a value, kept as maximal runs of equal values.
//
// Values are independent of position, so that a run splits without change. A sorted vector: runs are few and moved
// seldom, and looking up is what costs.
#pragma once

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "tidegate/bytes.h"

namespace tidegate::sim {

template <typename V>
class IntervalMap {
 public:
  IntervalMap(Bytes size, V value) : size_(size) { runs_.push_back({0, std::move(value)}); }

  Bytes size() const { return size_; }
  std::size_t run_count() const { return runs_.size(); }

  // Calls visit(begin, end, value) for each run's part inside [begin, end), in order.
  template <typename F>
  void for_each(Bytes begin, Bytes end, F&& visit) const {
    assert(begin <= end && end <= size_);
    for (std::size_t i = begin < end ? find(begin) : runs_.size(); i < runs_.size() && runs_[i].begin < end; ++i) {
      visit(std::max(begin, runs_[i].begin), std::min(end, end_of(i)), runs_[i].value);
    }
  }

  void assign(Bytes begin, Bytes end, V value) {
    assert(begin <= end && end <= size_);
    if (begin == end) return;
    const std::size_t first = split(begin);
    const std::size_t last = split(end);
    runs_[first].value = std::move(value);
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                runs_.begin() + static_cast<std::ptrdiff_t>(last));
    merge(first, first + 1);
  }

  // Calls change(begin, end, value&) for each run inside [begin, end), split at its borders.
  template <typename F>
  void update(Bytes begin, Bytes end, F&& change) {
    assert(begin <= end && end <= size_);
    if (begin == end) return;
    const std::size_t first = split(begin);
    const std::size_t last = split(end);
    for (std::size_t i = first; i < last; ++i) change(runs_[i].begin, end_of(i), runs_[i].value);
    merge(first, last);
  }

 private:
  struct Run {
    Bytes begin;
    V value;
  };

  Bytes end_of(std::size_t i) const { return i + 1 < runs_.size() ? runs_[i + 1].begin : size_; }

  std::size_t find(Bytes at) const {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), at, [](Bytes value, const Run& run) { return value < run.begin; });
    return static_cast<std::size_t>(after - runs_.begin()) - 1;
  }

  // The index of the run that begins at `at`, made if need be.
  std::size_t split(Bytes at) {
    if (at >= size_) return runs_.size();
    const std::size_t i = find(at);
    if (runs_[i].begin == at) return i;
    runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(i) + 1, Run{at, runs_[i].value});
    return i + 1;
  }

  // Joins equal neighbours among the runs first-1 ... last.
  void merge(std::size_t first, std::size_t last) {
    std::size_t i = first > 0 ? first - 1 : 0;
    std::size_t left = last - i;  // borders still to be looked at
    while (left-- > 0 && i + 1 < runs_.size()) {
      if (runs_[i].value == runs_[i + 1].value) {
        runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      } else {
        ++i;
      }
    }
  }

  std::vector<Run> runs_;
  Bytes size_;
};

}  // namespace tidegate::sim
