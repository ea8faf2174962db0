// The switches of the model's rules, by their names in the specification: W-1 ... W-46 (Windows), C-1 ... C-4 (any
// system), A.4 (latencies). All are on unless switched off: by a profile's group "rules", or by a test, each of which
// shows that what it asserts goes away with the rule.
#pragma once

#include <bitset>
#include <span>
#include <string>
#include <string_view>

namespace tidegate::sim {

// W-n is n.
using RuleId = int;
inline constexpr RuleId kRuleC1 = 51;
inline constexpr RuleId kRuleC2 = 52;
inline constexpr RuleId kRuleC3 = 53;
inline constexpr RuleId kRuleC4 = 54;
inline constexpr RuleId kRuleA4 = 55;

struct Rule {
  RuleId id;
  std::string_view name;
  std::string_view holds;    // with it
  std::string_view without;  // what the card does when it is off
};

// In the order of their names.
std::span<const Rule> all_rules();
// Null: the simulated card has no such rule.
const Rule* find_rule(std::string_view name);

class Rules {
 public:
  Rules() { on_.set(); }

  bool on(RuleId rule) const { return on_[static_cast<std::size_t>(rule)]; }
  void set(RuleId rule, bool on) { on_[static_cast<std::size_t>(rule)] = on; }
  // By name; false: no such rule.
  bool set(std::string_view name, bool on) {
    const Rule* rule = find_rule(name);
    if (rule != nullptr) set(rule->id, on);
    return rule != nullptr;
  }

 private:
  std::bitset<64> on_;
};

}  // namespace tidegate::sim
