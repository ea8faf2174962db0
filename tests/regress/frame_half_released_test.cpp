// A frame whose addresses were unmapped and whose memory the driver would not yet release counted as mapped again when
// the budget rose, and was unmapped once more, in vain, for ever.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

using testkit::FunctionId;
using testkit::kFrame;

class FrameHalfReleased : public testkit::PagerFixture {};

TEST_F(FrameHalfReleased, I4_TheBudgetIsReached) {
  open(8);
  const auto& model = add(frames_of(8));
  pass(model);
  for (int i = 0; i < 100 && pager_->stats().held < 8 * kFrame; ++i) sleep(base::kMillisecond);
  card_.faulty().fail_next(FunctionId::mem_release, cu::kNotReady, 3);
  ASSERT_TRUE(pager_->set_budget(2 * kFrame).ok());
  EXPECT_LE(pager_->stats().held, 2 * kFrame);
  pass(model);
  check();
}

TEST_F(FrameHalfReleased, I9_ItIsNotTakenIntoUseAgain) {
  open(8);
  const auto& model = add(frames_of(8));
  pass(model);
  for (int i = 0; i < 100 && pager_->stats().held < 8 * kFrame; ++i) sleep(base::kMillisecond);
  card_.faulty().fail_next(FunctionId::mem_release, cu::kOutOfMemory, 5);
  run_threads({[&] { EXPECT_TRUE(pager_->set_budget(2 * kFrame).ok()); },
               [&] {
                 sleep(500 * base::kMicrosecond);
                 EXPECT_TRUE(pager_->set_budget(8 * kFrame).ok());
               }});
  for (int i = 0; i < 3; ++i) pass(model);
  check();
}

}  // namespace
}  // namespace tidegate
