// Faults of the parts that priority classes have of the arena.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

class PriorityClasses : public testkit::PagerFixture {};

// The budget exceeds what the models fill: the higher class lay at the budget's end, where no frame is ever mapped, and
// its first lease waited for ever.
TEST_F(PriorityClasses, I3_ABudgetOverWhatTheModelsFill) {
  open(16);
  const auto& low = add(frames_of(3), 0);
  const auto& high = add(frames_of(3), 1);
  pass(high);
  pass(low);
  pass(high);
  check();
}

// The budget is one floor and there are two classes: the higher one got no room, and its leases were refused.
TEST_F(PriorityClasses, I3_ABudgetUnderAFloorForEachClass) {
  open(3);
  const auto& low = add(frames_of(8), 0);
  const auto& high = add(frames_of(8), 1);
  auto set = lease(low, {0, 1});
  ASSERT_TRUE(set.ok()) << set.error().message;
  set->release();
  ASSERT_TRUE(pager_->set_budget(4 * testkit::kFrame).ok());
  ASSERT_TRUE(pager_->set_budget(3 * testkit::kFrame).ok());
  for (int i = 0; i < 2; ++i) {
    pass(high);
    pass(low);
  }
  check();
}

// The lower class had the floor of the sets seen so far, and a larger set that the budget holds easily was refused.
TEST_F(PriorityClasses, I3_ASetLargerThanAnyBefore) {
  open(12);
  const auto& low = add(frames_of(12), 0);
  const auto& high = add(frames_of(12), 1);
  pass(high);
  pass(low);
  auto set = lease(low, {0, 1, 2, 3, 4});
  ASSERT_TRUE(set.ok()) << set.error().message;
  use(low, *set, 4);
  set->release();
  pass(high);
  check();
}

}  // namespace
}  // namespace tidegate
