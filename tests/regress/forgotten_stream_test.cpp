// forget_stream whose event the driver refused left the stream's uses open for ever: nobody could record on it any
// more, and whoever needed the bytes waited without end.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

class ForgottenStream : public testkit::PagerFixture {};

TEST_F(ForgottenStream, I1_ItsUsesEndAlthoughItsEventWasRefused) {
  open(2);
  const auto& model = add(frames_of(6));
  pass(model);
  auto taken = lease(model, {0, 1});
  ASSERT_TRUE(taken.ok());
  use(model, *taken, 0, 0, 300 * base::kMicrosecond);
  card_.faulty().fail_next(testkit::FunctionId::event_record, cu::kOutOfMemory, 150);
  taken->release();
  pager_->forget_stream(stream(0));
  card_.faulty().fail_next(testkit::FunctionId::event_record, cu::kSuccess, 0);
  streams().replace(0);
  pass(model);
  check();
}

}  // namespace
}  // namespace tidegate
