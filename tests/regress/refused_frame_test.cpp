// The driver refuses a frame while a lease waits that needs it: the lease waited for ever, because the learned ceiling
// did not reach the room that leases are held against.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

class RefusedFrame : public testkit::PagerFixture {};

TEST_F(RefusedFrame, I3_AWaitingLeaseThatNeedsItIsAnswered) {
  open(8);
  card_.faulty().fail_next(testkit::FunctionId::mem_create, cu::kOutOfMemory, 1000, 2);
  const auto& model = add(frames_of(8));
  auto large = lease(model, {0, 1, 2, 3, 4});
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, Errc::kBelowFloor) << large.error().message;
  pass(model);
  check();
}

}  // namespace
}  // namespace tidegate
