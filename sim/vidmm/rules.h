// The switches of the model's rules, by their number in the specification (W-1 ... W-49). All are on unless switched
// off, which is for tests: each shows that what it asserts goes away with the rule.
#pragma once

#include <bitset>
#include <string>

namespace tidegate::sim::vidmm {

class Rules {
 public:
  static constexpr int kLast = 49;

  Rules() { on_.set(); }

  bool on(int number) const { return on_[static_cast<std::size_t>(number)]; }
  void set(int number, bool on) { on_[static_cast<std::size_t>(number)] = on; }

  // "W-9". False: no such rule.
  bool switch_off(const std::string& name) {
    if (name.size() < 3 || name.size() > 4 || name.compare(0, 2, "W-") != 0) return false;
    int number = 0;
    for (std::size_t i = 2; i < name.size(); ++i) {
      if (name[i] < '0' || name[i] > '9') return false;
      number = number * 10 + (name[i] - '0');
    }
    if (number < 1 || number > kLast) return false;
    set(number, false);
    return true;
  }

 private:
  std::bitset<kLast + 1> on_;
};

}  // namespace tidegate::sim::vidmm
