// Where waiting for a measured copy failed, the host memory that it reads was freed under it.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

class LinkMeasurement : public testkit::PagerFixture {};

TEST_F(LinkMeasurement, I1_ItsHostMemoryOutlivesItsCopies) {
  card_.faulty().fail_next(testkit::FunctionId::event_synchronize, cu::kNotReady, 100);
  open(4);
  card_.faulty().fail_next(testkit::FunctionId::event_synchronize, cu::kSuccess, 0);
  pass(add(frames_of(6)));
}

}  // namespace
}  // namespace tidegate
