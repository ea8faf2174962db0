// Leases in the situations that a random world meets too rarely.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

using testkit::FunctionId;
using testkit::kFrame;
using testkit::PagerFixture;

class DirectedLease : public PagerFixture {};

TEST_F(DirectedLease, I3_NestedLeasesOfTwoCallersAreRefusedNotStuck) {
  open(4);
  const auto& model = add(testkit::PagerFixture::frames_of(12));
  int refused = 0;
  int granted = 0;
  bool first_has = false;
  bool second_has = false;
  const auto body = [&](std::size_t base, bool& mine, const bool& other) {
    return [&, base] {
      auto outer = lease(model, {base, base + 1}, base == 0 ? 0 : 1);
      ASSERT_TRUE(outer.ok()) << outer.error().message;
      mine = true;
      while (!other) executor_.spend(10 * base::kMicrosecond);
      auto inner = lease(model, {base + 2, base + 3}, base == 0 ? 0 : 1);
      if (inner) {
        ++granted;
      } else {
        EXPECT_EQ(inner.error().code, Errc::kWouldDeadlock) << inner.error().message;
        ++refused;
      }
    };
  };
  (void)streams();
  run_threads({body(0, first_has, second_has), body(6, second_has, first_has)});
  EXPECT_EQ(refused, 1) << "one is told, the other goes on";
  EXPECT_EQ(granted, 1);
  check();
  pass(model);
}

TEST_F(DirectedLease, I3_OwnLeasesInTheWayAreRefusedNotStuck) {
  open(4);
  const auto& model = add(frames_of(12));
  auto outer = lease(model, {0, 1, 2});
  ASSERT_TRUE(outer.ok());
  auto inner = lease(model, {3, 4});
  ASSERT_FALSE(inner.ok());
  EXPECT_EQ(inner.error().code, Errc::kWouldDeadlock);
  check();
  outer->release();
  pass(model);
}

TEST_F(DirectedLease, I3_SetLargerThanTheRoomIsBelowFloor) {
  open(4);
  const auto& model = add(frames_of(12));
  auto taken = lease(model, {0, 1, 2, 3, 4});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, Errc::kBelowFloor);
  EXPECT_TRUE(lease(model, {0, 1, 2, 3}).ok()) << "what fits is granted";
  check();
}

TEST_F(DirectedLease, I3_AFailedLeaseHoldsNothing) {
  open(4);
  auto& model = add(frames_of(12));
  card_.faulty().fail_next(FunctionId::stream_wait_event, cu::kNotReady, 1000);
  for (int i = 0; i < 5; ++i) {
    auto taken = lease(model, {0, 1, 2});
    if (!taken) {
      EXPECT_EQ(taken.error().code, Errc::kDriver);
    }
  }
  card_.faulty().fail_next(FunctionId::stream_wait_event, cu::kSuccess, 0);
  check();
  EXPECT_TRUE(pager_->remove_model(model.id()).ok()) << "no lease is left on it";
}

TEST_F(DirectedLease, I3_ExtendNeverWaits) {
  open(4);
  const auto& model = add(frames_of(12));
  auto mine = lease(model, {0});
  auto others = lease(model, {1, 2, 3}, 1);
  ASSERT_TRUE(mine.ok() && others.ok());
  const base::Nanos before = executor_.now();
  const BlockId more = model.blocks()[5].id;
  const auto extended = mine->extend({&more, 1});
  ASSERT_FALSE(extended.ok());
  EXPECT_EQ(extended.error().code, Errc::kOutOfMemory);
  EXPECT_EQ(mine->size(), 1u);
  EXPECT_LT(executor_.now() - before, base::kMillisecond);
  others->release();
  sleep(base::kMillisecond);
  EXPECT_TRUE(mine->extend({&more, 1}).ok());
  use(model, *mine, 1);
  check();
}

// Two callers take small leases in turns that overlap, so that at every instant one of them is in the way.
TEST_F(DirectedLease, I3_ALargeSetDoesNotStarveBesideSmallLeases) {
  open(4);
  const auto& model = add(frames_of(8));
  for (int i = 0; i < 3; ++i) {  // learned: leases of resident blocks take the fast path from here on
    pager_->begin_pass(model.id());
    pass(model);
    sleep(base::kMillisecond);
  }
  constexpr base::Nanos kRound = 10 * base::kMicrosecond;
  constexpr int kRounds = 5000;
  bool done = false;
  int rounds = 0;
  const base::Nanos start = executor_.now() + base::kMillisecond;
  const auto small = [&](std::size_t block, base::Nanos offset) {
    return [&, block, offset] {
      for (int round = 0; round < kRounds && !done; ++round) {
        executor_.sleep_until(start + round * kRound + offset);
        auto taken = lease(model, {block}, offset == 0 ? 0 : 1);
        ASSERT_TRUE(taken.ok()) << taken.error().message;
        sleep(kRound * 8 / 10);
        rounds = std::max(rounds, round);
      }
    };
  };
  const auto large = [&] {
    executor_.sleep_until(start + 100 * kRound);
    const auto taken = lease(model, {4, 5, 6, 7}, 0);
    EXPECT_TRUE(taken.ok());
    done = true;
  };
  run_threads({small(0, 0), small(1, kRound / 2), large});
  EXPECT_LT(rounds, kRounds / 2);
  check();
}

TEST_F(DirectedLease, I1_BytesAreReusedOnlyAfterTheLastUse) {
  open(2);
  const auto& model = add(frames_of(6));
  for (int round = 0; round < 3; ++round) pass(model, 500 * base::kMicrosecond);  // kernels outlast their leases
  check();
}

TEST_F(DirectedLease, I1_UsesOnManyStreamsAllCount) {
  open(2);
  const auto& model = add(frames_of(4));
  for (std::size_t i = 0; i < 12; ++i) {
    auto first = lease(model, {i % 4}, 0);
    ASSERT_TRUE(first.ok());
    auto second = lease(model, {i % 4}, 1);
    ASSERT_TRUE(second.ok());
    use(model, *first, 0, 0, 300 * base::kMicrosecond);
    use(model, *second, 0, 1, 700 * base::kMicrosecond);
    second->release();
    first->release();
  }
  EXPECT_EQ(streams().verify(), "");
  check();
}

TEST_F(DirectedLease, I1_DeclareIdleEndsEveryUse) {
  open(3);
  const auto& model = add(frames_of(3));
  auto taken = lease(model, {0, 1, 2});
  ASSERT_TRUE(taken.ok());
  use(model, *taken, 0, 0, base::kMillisecond);
  taken->release();
  ASSERT_EQ(card_.raw().ctx_synchronize(), cu::kSuccess);
  pager_->declare_idle();
  EXPECT_EQ(pager_->stats().busy, 0u);
  pass(model);
  check();
}

TEST_F(DirectedLease, I1_AForgottenStreamsUsesStillCount) {
  open(2);
  const auto& model = add(frames_of(6));
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < 6; ++i) {
      auto taken = lease(model, {i});
      ASSERT_TRUE(taken.ok());
      use(model, *taken, 0, 0, 400 * base::kMicrosecond);
      taken->release();
      pager_->forget_stream(stream(0));
      streams().replace(0);
    }
  }
  EXPECT_EQ(streams().verify(), "");
  check();
}

TEST_F(DirectedLease, I9_TheLegacyDefaultStreamIsAStreamLikeOthers) {
  open(2);
  const auto& model = add(frames_of(6));
  for (std::size_t i = 0; i < 18; ++i) {
    const BlockId id = model.blocks()[i % 6].id;
    auto taken = pager_->lease({&id, 1}, nullptr);
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    ASSERT_EQ(kernels_.launch_work(card_.raw(), taken->address(0), kFrame, 100'000, nullptr), cu::kSuccess);
  }
  check();
}

}  // namespace
}  // namespace tidegate
