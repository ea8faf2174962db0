// Budgets and frames: I4, and what the driver's refusals come to.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

using testkit::FunctionId;
using testkit::kFrame;
using testkit::PagerFixture;

class DirectedBudget : public PagerFixture {};

TEST_F(DirectedBudget, I4_HalvedMidPassWithLeasesHeld) {
  open(16);
  const auto& model = add(frames_of(16));
  pass(model);
  for (int i = 0; i < 100 && pager_->stats().held < 16 * kFrame; ++i) sleep(base::kMillisecond);
  ASSERT_EQ(pager_->stats().held, 16 * kFrame);
  std::vector<Lease> held;
  for (std::size_t i = 4; i < 14; ++i) {
    auto taken = lease(model, {i});
    ASSERT_TRUE(taken.ok());
    use(model, *taken, 0, 0, 200 * base::kMicrosecond);
    held.push_back(std::move(taken).value());
  }
  ASSERT_TRUE(pager_->set_budget(8 * kFrame).ok());
  Bytes excess = pager_->stats().held;
  EXPECT_LE(excess, 10 * kFrame) << "ten frames are leased, nothing else exceeds the budget";
  check();
  while (!held.empty()) {
    held.pop_back();
    for (int i = 0; i < 20; ++i) {
      sleep(50 * base::kMicrosecond);
      EXPECT_LE(pager_->stats().held, std::max(excess, 8 * kFrame)) << "the excess only falls";
      excess = pager_->stats().held;
    }
    check();
  }
  sleep(5 * base::kMillisecond);
  EXPECT_LE(pager_->stats().held, 8 * kFrame);
  pass(model);
  EXPECT_LE(pager_->stats().held, 8 * kFrame);
}

TEST_F(DirectedBudget, I4_AStuckFrameDoesNotOutliveABudgetThatDoesNotWantIt) {
  open(8);
  card_.faulty().fail_next(FunctionId::mem_set_access, cu::kNotReady, 50, 3);
  const auto& model = add(frames_of(8));
  sleep(base::kMillisecond);
  auto first = lease(model, {0});  // what is leased cannot make up for the stuck frame
  auto second = lease(model, {1});
  ASSERT_TRUE(first.ok() && second.ok());
  sleep(base::kMillisecond);  // no copy is under way
  ASSERT_TRUE(pager_->set_budget(2 * kFrame).ok());
  EXPECT_LE(pager_->stats().held, 2 * kFrame);
  check();
  first->release();
  second->release();
  check();
  card_.faulty().fail_next(FunctionId::mem_set_access, cu::kSuccess, 0);
  pass(model);
  ASSERT_TRUE(pager_->set_budget(8 * kFrame).ok());
  pass(model);
  for (int i = 0; i < 100 && pager_->stats().held < 8 * kFrame; ++i) sleep(base::kMillisecond);
  pass(model);
  EXPECT_EQ(pager_->stats().held, 8 * kFrame);
}

TEST_F(DirectedBudget, I3_BelowTheFloorIsRefusedByName) {
  open(8);
  const auto& model = add(frames_of(8));
  ASSERT_TRUE(lease(model, {0, 1, 2}).ok());
  const Bytes floor = pager_->stats().floor;
  EXPECT_EQ(floor, 4 * kFrame) << "the largest lease and one block in flight";
  const auto refused = pager_->set_budget(floor - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kBelowFloor);
  EXPECT_NE(refused.error().message.find(std::to_string(floor)), std::string::npos) << refused.error().message;
  EXPECT_EQ(pager_->stats().budget, 8 * kFrame) << "nothing was changed";
  EXPECT_TRUE(pager_->set_budget(floor).ok());
  pass(model);
  check();
}

TEST_F(DirectedBudget, I3_DoomedFramesServeTheirHolderAndNobodyElse) {
  open(8);
  const auto& model = add(frames_of(8));
  pass(model);
  auto held = lease(model, {6, 7});
  ASSERT_TRUE(held.ok());
  const DeviceAddress address = held->address(0);
  ASSERT_TRUE(pager_->set_budget(3 * kFrame).ok());
  auto again = lease(model, {6});
  ASSERT_TRUE(again.ok()) << "a holder gets what it holds";
  EXPECT_EQ(again->address(0), address) << "an address holds while it is leased";
  use(model, *again, 0);
  again->release();
  held->release();
  sleep(2 * base::kMillisecond);
  EXPECT_LE(pager_->stats().held, 3 * kFrame);
  pass(model);
  check();
}

TEST_F(DirectedBudget, I3_NotReadyFromSetAccessTwentyTimes) {
  open(8);
  card_.faulty().fail_next(FunctionId::mem_set_access, cu::kNotReady, 20);
  const auto& model = add(frames_of(8));
  pass(model);
  for (int i = 0; i < 2000 && pager_->stats().held < 8 * kFrame; ++i) sleep(base::kMillisecond);
  EXPECT_EQ(pager_->stats().held, 8 * kFrame) << "every frame came in the end";
  EXPECT_EQ(pager_->stats().ceiling, 8 * kFrame) << "NOT_READY is no ceiling";
  EXPECT_GE(pager_->stats().retries, 20u);
  pass(model);
  check();
}

TEST_F(DirectedBudget, I3_OutOfMemoryIsACeilingAndTheRunGoesOn) {
  open(8);
  card_.faulty().fail_next(FunctionId::mem_create, cu::kOutOfMemory, 1000, 3);
  const auto& model = add(frames_of(8));
  for (int i = 0; i < 3; ++i) pass(model);
  EXPECT_EQ(pager_->stats().held, 4 * kFrame);
  EXPECT_EQ(pager_->stats().ceiling, 4 * kFrame);
  check();
  auto large = lease(model, {0, 1, 2, 3, 4});
  ASSERT_FALSE(large.ok()) << "never to be had";
  EXPECT_EQ(large.error().code, Errc::kBelowFloor);
  card_.faulty().fail_next(FunctionId::mem_create, cu::kSuccess, 0);
  ASSERT_TRUE(pager_->set_budget(8 * kFrame).ok());
  for (int i = 0; i < 100 && pager_->stats().held < 8 * kFrame; ++i) sleep(base::kMillisecond);
  EXPECT_EQ(pager_->stats().held, 8 * kFrame) << "a new budget forgets the ceiling";
  pass(model);
}

TEST_F(DirectedBudget, I3_StaticModeRefusesAnotherBudgetAndMapsNothing) {
  PagerOptions wanted = options(4);
  wanted.mode = Mode::kStatic;
  open(wanted);
  const auto& model = add(frames_of(10));
  for (int i = 0; i < 3; ++i) pass(model);
  const auto refused = pager_->set_budget(8 * kFrame);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(card_.faulty().calls(FunctionId::mem_create), 0u);
  EXPECT_EQ(pager_->stats().mapping_calls, 0u);
  check();
}

TEST_F(DirectedBudget, I3_OffModeOfAModelTooLargeIsATypedOutOfMemory) {
  PagerOptions wanted = options(4);
  wanted.mode = Mode::kOff;
  open(wanted);
  testkit::SeededModel large(card_.raw(), 5, std::vector<Bytes>(60, kMiB), false);
  const auto added = pager_->add_model(large.spec("large"));
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Errc::kOutOfMemory);
  (void)streams();
  const Bytes free = card_.free_bytes();
  card_.faulty().fail_next(FunctionId::memcpy_htod_async, cu::kInvalidValue, 1, 2);
  testkit::SeededModel fits(card_.raw(), 6, std::vector<Bytes>(4, kMiB), false);
  ASSERT_FALSE(pager_->add_model(fits.spec("fits")).ok());
  EXPECT_EQ(card_.free_bytes(), free) << "a model that was not added holds nothing";
  EXPECT_EQ(pager_->stats().held, 0u);
  auto again = pager_->add_model(fits.spec("fits"));
  ASSERT_TRUE(again.ok()) << again.error().message;
  fits.added(*pager_, *again);
  pass(fits);
  ASSERT_TRUE(pager_->remove_model(*again).ok());
  EXPECT_EQ(card_.free_bytes(), free);
}

// Warm passes make no mapping call; so does a budget that comes back to what it was only once.
TEST_F(DirectedBudget, I1_WarmPassesMakeNoMappingCall) {
  open(4);
  const auto& model = add(frames_of(10));
  pass(model);
  pass(model);
  const std::uint64_t before = pager_->stats().mapping_calls;
  for (int i = 0; i < 5; ++i) pass(model);
  EXPECT_EQ(pager_->stats().mapping_calls, before);
}

}  // namespace
}  // namespace tidegate
