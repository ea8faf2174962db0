// A copy that fails for good answered every waiting lease and emptied the queue under the loop that walked through it.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

using testkit::FunctionId;

class FatalCopy : public testkit::PagerFixture {};

TEST_F(FatalCopy, I3_EveryWaitingLeaseIsAnsweredWithAType) {
  open(2);
  const auto& model = add(frames_of(8));
  pass(model);
  (void)streams();
  int answered = 0;
  const auto waiting = [&](std::size_t block) {
    return [&, block] {
      sleep(base::kMillisecond);
      const auto taken = lease(model, {block, block + 1}, block % 2);
      EXPECT_FALSE(taken.ok());
      if (!taken) {
        EXPECT_EQ(taken.error().code, Errc::kDriver);
      }
      ++answered;
    };
  };
  run_threads({[&] {
                 auto held = lease(model, {0, 1}, 0);
                 ASSERT_TRUE(held.ok());
                 sleep(3 * base::kMillisecond);
                 card_.faulty().fail_next(FunctionId::memcpy_htod_async, cu::kInvalidValue, 1000);
               },
               waiting(2), waiting(4), waiting(6)});
  EXPECT_EQ(answered, 3);
  EXPECT_FALSE(lease(model, {7}).ok()) << "the pager is out of service, and says so";
}

}  // namespace
}  // namespace tidegate
