// Captures, and a driver that breaks for good.
#include "tests/support/pager_fixture.h"

namespace tidegate {
namespace {

using testkit::FunctionId;
using testkit::kFrame;
using testkit::PagerFixture;

class DirectedDriver : public PagerFixture {
 protected:
  void begin_capture(cu::CaptureMode mode) {
    ASSERT_EQ(card_.raw().stream_begin_capture(stream(), mode), cu::kSuccess);
  }
  // Success: nothing that the pager did has hurt it.
  void end_capture() {
    cu::Graph graph = nullptr;
    EXPECT_EQ(card_.raw().stream_end_capture(stream(), &graph), cu::kSuccess) << "the capture was broken";
    if (graph != nullptr) (void)card_.raw().graph_destroy(graph);
  }
};

TEST_F(DirectedDriver, I3_AnAbsentBlockOnACapturingStreamIsRefusedAndTheCaptureSurvives) {
  open(3);
  const auto& model = add(frames_of(8));
  pass(model);
  for (const cu::CaptureMode mode : {cu::kCaptureGlobal, cu::kCaptureThreadLocal, cu::kCaptureRelaxed}) {
    begin_capture(mode);
    int refused = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      auto taken = lease(model, {i});
      if (!taken) {
        EXPECT_EQ(taken.error().code, Errc::kCapturing) << taken.error().message;
        ++refused;
      }
    }
    EXPECT_GE(refused, 5) << "at most three of eight are resident";
    end_capture();
    check();
  }
  pass(model);
}

TEST_F(DirectedDriver, I3_AResidentBlockOnACapturingStreamIsFine) {
  open(8);
  const auto& model = add(frames_of(8));
  pass(model);
  pass(model);
  begin_capture(cu::kCaptureGlobal);
  for (std::size_t i = 0; i < 8; ++i) {
    auto taken = lease(model, {i});
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    EXPECT_EQ(kernels_.launch_work(card_.raw(), taken->address(0), kFrame, 1000, stream()), cu::kSuccess);
  }
  pager_->end_step(stream());
  end_capture();
  pass(model);
  check();
}

// Its copy is issued, so it is resident; but a capture must not wait for a copy outside of it.
TEST_F(DirectedDriver, I3_ABlockUnderWayOnACapturingStreamIsRefusedAndTheCaptureSurvives) {
  open(8);
  const auto& model = add(std::vector<Bytes>(2, 3 * kFrame));
  begin_capture(cu::kCaptureGlobal);
  auto other = lease(model, {0}, 1);  // a copy of 16 us begins
  ASSERT_TRUE(other.ok()) << other.error().message;
  auto taken = lease(model, {0}, 0);
  if (!taken) {
    EXPECT_EQ(taken.error().code, Errc::kCapturing);
  }
  end_capture();
  check();
}

TEST_F(DirectedDriver, I3_ExtendByAnAbsentBlockOnACapturingStreamIsRefused) {
  open(3);
  const auto& model = add(frames_of(8));
  pass(model);
  auto taken = lease(model, {7});
  ASSERT_TRUE(taken.ok());
  sleep(base::kMillisecond);
  begin_capture(cu::kCaptureGlobal);
  int refused = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    const BlockId more = model.blocks()[i].id;
    if (const auto extended = taken->extend({&more, 1}); !extended) {
      EXPECT_TRUE(extended.error().code == Errc::kCapturing) << extended.error().message;
      ++refused;
    }
  }
  EXPECT_GE(refused, 4);
  end_capture();
  taken->release();
  check();
}

TEST_F(DirectedDriver, I3_TheCallersCaptureModeIsAsItWas) {
  open(3);
  const auto& model = add(frames_of(8));
  card_.faulty().set_probability(FunctionId::thread_exchange_stream_capture_mode, 30000);
  card_.faulty().arm(true);
  for (int i = 0; i < 3; ++i) pass(model);
  card_.faulty().arm(false);
  cu::CaptureMode mode = cu::kCaptureRelaxed;
  ASSERT_EQ(card_.raw().thread_exchange_stream_capture_mode(&mode), cu::kSuccess);
  EXPECT_EQ(mode, cu::kCaptureGlobal);
  (void)card_.raw().thread_exchange_stream_capture_mode(&mode);
}

// The user's kernel destroys the context: everything answers with a type, and nothing hangs.
TEST_F(DirectedDriver, I3_ABrokenContextIsATypedErrorEverywhere) {
  open(4);
  auto& model = add(frames_of(10));
  pass(model);
  auto held = lease(model, {9});
  ASSERT_TRUE(held.ok());
  (void)kernels_.launch_work(card_.raw(), 0x10, 8, 1000, stream());  // an illegal address
  sleep(base::kMillisecond);
  expect_clean_ = false;
  int refused = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    auto taken = lease(model, {i});
    if (!taken) {
      EXPECT_EQ(taken.error().code, Errc::kDriver) << taken.error().message;
      ++refused;
    }
  }
  EXPECT_GE(refused, 6) << "what is not resident cannot come";
  if (const auto set = pager_->set_budget(2 * kFrame); !set) {
    EXPECT_EQ(set.error().code, Errc::kDriver);
  }
  held->release();
  pager_->end_step(stream());
  pager_->begin_pass(model.id());
  pager_->declare_idle();
  (void)pager_->stats();
  if (const auto removed = pager_->remove_model(model.id()); !removed) {
    EXPECT_EQ(removed.error().code, Errc::kDriver);
  }
}

TEST_F(DirectedDriver, I3_ABrokenContextReachesCallersThatWait) {
  open(2);
  const auto& model = add(frames_of(6));
  pass(model);
  (void)streams();
  bool answered = false;
  run_threads({[&] {
                 auto held = lease(model, {0, 1}, 0);
                 ASSERT_TRUE(held.ok());
                 sleep(2 * base::kMillisecond);
                 (void)kernels_.launch_work(card_.raw(), 0x10, 8, 1000, stream(0));
                 sleep(2 * base::kMillisecond);
                 held->release();
               },
               [&] {
                 sleep(base::kMillisecond);
                 auto waited = lease(model, {4, 5}, 1);
                 EXPECT_FALSE(waited.ok());
                 answered = true;
               }});
  expect_clean_ = false;
  EXPECT_TRUE(answered);
}

TEST_F(DirectedDriver, I3_AFrameThatIsNeverReleasedIsATypedError) {
  open(6);
  const auto& model = add(frames_of(6));
  pass(model);
  card_.faulty().fail_next(FunctionId::mem_unmap, cu::kInvalidValue, 1);
  const auto set = pager_->set_budget(2 * kFrame);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code, Errc::kDriver);
}

TEST_F(DirectedDriver, I1_EndsWithoutADeviceSynchronise) {
  const Bytes free = card_.free_bytes();
  open(6);
  const auto& model = add(frames_of(12));
  for (int i = 0; i < 3; ++i) pass(model, 50 * base::kMicrosecond);
  auto taken = lease(model, {3});
  ASSERT_TRUE(taken.ok());
  use(model, *taken, 0, 0, 5 * base::kMillisecond);
  taken->release();
  const std::uint64_t before = card_.process().stats().device_syncs;
  pager_.reset();  // waits for the kernel, by event
  EXPECT_EQ(card_.process().stats().device_syncs, before);
  streams_.reset();
  EXPECT_EQ(card_.free_bytes(), free);
}

}  // namespace
}  // namespace tidegate
