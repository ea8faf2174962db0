// A model goes while its copies are under way.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

using testkit::FunctionId;

class RemovedModel : public testkit::PagerFixture {};

// remove_model waited for recorded copies only: where the record had failed, the caller freed host memory under the
// copy. And a lease that waited for the removed model went on copying from it.
TEST_F(RemovedModel, I1_ItsHostMemoryIsFreeOfCopiesThatNoEventCovers) {
  open(8);
  auto model =
      std::make_unique<testkit::SeededModel>(card_.raw(), 3, std::vector<Bytes>(2, 8 * testkit::kFrame - 4096), true);
  ASSERT_TRUE(pager_->set_budget(40 * testkit::kFrame).ok());
  auto added = pager_->add_model(model->spec("m"));
  ASSERT_TRUE(added.ok()) << added.error().message;
  model->added(*pager_, *added);
  sleep(20 * base::kMillisecond);
  (void)streams();
  card_.faulty().fail_next(FunctionId::event_record, cu::kNotReady, 4);
  run_threads({[&] {
                 const auto taken = lease(*model, {0});
                 if (!taken) {
                   EXPECT_EQ(taken.error().code, Errc::kInvalidArgument) << taken.error().message;
                 }
               },
               [&] {
                 executor_.spend(40 * base::kMicrosecond);
                 while (!pager_->remove_model(*added).ok()) executor_.spend(10 * base::kMicrosecond);
                 model.reset();
               }});
  check();
}

}  // namespace
}  // namespace tidegate
