// A frame whose memory or mapping was answered NOT_READY has nothing to undo: giving it up took it for half mapped.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

using testkit::FunctionId;
using testkit::kFrame;

class FrameRefusedHalfway : public testkit::PagerFixture {
 protected:
  void refuse(FunctionId call) {
    open(8);
    card_.faulty().fail_next(call, cu::kNotReady, 100, 3);
    const auto& model = add(frames_of(8));
    sleep(base::kMillisecond);
    auto first = lease(model, {0});
    auto second = lease(model, {1});
    ASSERT_TRUE(first.ok() && second.ok());
    sleep(base::kMillisecond);  // no copy is under way
    ASSERT_TRUE(pager_->set_budget(2 * kFrame).ok());
    EXPECT_LE(pager_->stats().held, 2 * kFrame);
    first->release();
    second->release();
    pass(model);
    check();
  }
};

TEST_F(FrameRefusedHalfway, I4_NotReadyFromCreate) { refuse(FunctionId::mem_create); }
TEST_F(FrameRefusedHalfway, I4_NotReadyFromMap) { refuse(FunctionId::mem_map); }
TEST_F(FrameRefusedHalfway, I4_NotReadyFromSetAccess) { refuse(FunctionId::mem_set_access); }

}  // namespace
}  // namespace tidegate
