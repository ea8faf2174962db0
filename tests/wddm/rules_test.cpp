// Each rule has a switch: what is observed with the rule on must be absent with it off.
#include <set>

#include "tests/wddm/rule_cases.h"

namespace tidegate::sim {

void PrintTo(const RuleCase& tested, std::ostream* out) { *out << tested.rule; }

namespace {

std::vector<RuleCase> all_cases() {
  std::vector<RuleCase> all;
  for (const auto& cases : {residency_cases(), paging_cases(), driver_cases(), common_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

class RuleTest : public testing::TestWithParam<RuleCase> {};

INSTANTIATE_TEST_SUITE_P(Rules, RuleTest, testing::ValuesIn(all_cases()), [](const auto& tested) {
  std::string name(tested.param.rule);
  std::erase_if(name, [](char letter) { return letter == '-' || letter == '.'; });
  return name;
});

TEST_P(RuleTest, HoldsWithItAndNotWithout) {
  const Rule* rule = find_rule(GetParam().rule);
  ASSERT_NE(rule, nullptr);
  Profile profile = rtx3050();
  EXPECT_TRUE(GetParam().holds(profile)) << rule->holds;
  profile.rules.set(rule->id, false);
  EXPECT_FALSE(GetParam().holds(profile)) << rule->without;
}

// Those that the specification asks for, by number, and each has a case above.
TEST(RuleList, IsComplete) {
  std::set<std::string> wanted = {"A.4"};
  const auto add = [&](const char* letter, int first, int last) {
    for (int n = first; n <= last; ++n) wanted.insert(letter + std::to_string(n));
  };
  add("W-", 1, 6);
  add("W-", 9, 15);
  add("W-", 20, 22);
  add("W-", 24, 34);
  add("W-", 36, 36);
  add("W-", 39, 46);
  add("C-", 1, 4);
  std::set<std::string> listed;
  for (const Rule& rule : all_rules()) listed.emplace(rule.name);
  EXPECT_EQ(listed, wanted);
  std::set<std::string> tried;
  for (const RuleCase& tested : all_cases()) tried.emplace(tested.rule);
  EXPECT_EQ(tried, wanted);
}

TEST(RuleList, SwitchesByName) {
  Rules rules;
  EXPECT_TRUE(rules.on(9));
  EXPECT_TRUE(rules.set("W-9", false));
  EXPECT_FALSE(rules.on(9));
  EXPECT_TRUE(rules.set("C-3", false));
  EXPECT_FALSE(rules.on(kRuleC3));
  for (const char* name : {"W-", "W-0", "W-50", "L-1", "W-x1", "W-123", "9", ""}) EXPECT_FALSE(rules.set(name, false));
}

}  // namespace
}  // namespace tidegate::sim
