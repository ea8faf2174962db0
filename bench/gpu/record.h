// What a measurement on a card leaves behind: samples, and the machine that they come from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tidegate/card.h"

namespace tidegate::bench {

// Repeated measurements of one thing. Units are the caller's.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  // {"median", "min", "max", "n"}; needs at least one sample.
  nlohmann::json json() const {
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    return {
        {"median", sorted[sorted.size() / 2]}, {"min", sorted.front()}, {"max", sorted.back()}, {"n", sorted.size()}};
  }
  double median() const { return json()["median"].get<double>(); }

 private:
  std::vector<double> values_;
};

// The head of every result: the card, the driver, the date, the source's state, and whether figures were measured on a
// device or come from the simulated card.
nlohmann::json provenance(Card& card, const std::string& part);

}  // namespace tidegate::bench
