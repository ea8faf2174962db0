// What a batch of frames does next, over every situation that can be told apart.
#include <gtest/gtest.h>

#include "src/pager/leave.h"

namespace tidegate::pager {
namespace {

using base::kMillisecond;
using base::Nanos;

constexpr LeaveStage kStages[] = {LeaveStage::kGathered, LeaveStage::kTouching, LeaveStage::kSettled,
                                  LeaveStage::kUnmapped, LeaveStage::kDraining};
constexpr Nanos kDeadline = 2'000 * kMillisecond;
constexpr Nanos kTimes[] = {0, 50 * kMillisecond, 100 * kMillisecond, 1'500 * kMillisecond, kDeadline, 10 * kDeadline};

// Calls `check` with each of 5 x 2^7 x 6^3 x 2^3 situations.
template <typename Check>
void for_each_situation(Check check) {
  for (const LeaveStage stage : kStages) {
    for (unsigned bits = 0; bits < 1024; ++bits) {
      for (const Nanos gate_for : kTimes) {
        for (const Nanos draining_for : kTimes) {
          for (const Nanos since_asked : kTimes) {
            const auto bit = [bits](unsigned n) { return (bits >> n & 1) != 0; };
            LeaveSituation now{.stage = stage,
                               .touched = bit(0),
                               .drained = bit(1),
                               .undisturbed = bit(2),
                               .told = bit(3),
                               .gate_closed = bit(4),
                               .gate_spent = bit(5),
                               .silent = bit(6),
                               .silent_since_drain = bit(6) && bit(4),
                               .gate_for = bit(4) ? gate_for : 0,
                               .draining_for = draining_for,
                               .since_asked = since_asked,
                               .deadline = kDeadline};
            LeavingOptions options;
            options.settle = bit(7);
            options.drain = bit(8);
            options.gate = bit(9);
            check(options, now, next_leave_action(options, now));
          }
        }
      }
    }
  }
}

TEST(LeavePolicy, NothingIsUnmappedUnderTheTouch) {
  for_each_situation([](const LeavingOptions& options, const LeaveSituation& now, LeaveAction action) {
    if (action != LeaveAction::kUnmap) return;
    ASSERT_TRUE(now.stage == LeaveStage::kSettled || (now.stage == LeaveStage::kTouching && now.touched) ||
                (now.stage == LeaveStage::kGathered && !options.settle));
  });
}

TEST(LeavePolicy, NothingIsReleasedUndrained) {
  for_each_situation([](const LeavingOptions& options, const LeaveSituation& now, LeaveAction action) {
    if (action != LeaveAction::kRelease && action != LeaveAction::kForce) return;
    ASSERT_TRUE(now.stage == LeaveStage::kDraining ? now.drained
                                                   : now.stage == LeaveStage::kUnmapped && !options.drain);
  });
}

TEST(LeavePolicy, AReleaseIsUndisturbedOrSilentOrForced) {
  for_each_situation([](const LeavingOptions& options, const LeaveSituation& now, LeaveAction action) {
    if (now.stage != LeaveStage::kDraining || !options.gate) return;
    if (action == LeaveAction::kRelease) {
      ASSERT_TRUE(now.undisturbed || (now.gate_closed && now.silent && now.silent_since_drain));
    }
    if (action == LeaveAction::kForce) {
      ASSERT_TRUE(now.gate_spent || now.gate_for >= 100 * kMillisecond || now.draining_for >= kDeadline ||
                  now.since_asked >= kDeadline);
    }
  });
}

TEST(LeavePolicy, TheGateIsClosedOnceAndNotTooLong) {
  for_each_situation([](const LeavingOptions&, const LeaveSituation& now, LeaveAction action) {
    if (action == LeaveAction::kCloseGate) {
      ASSERT_FALSE(now.gate_closed || now.gate_spent || now.undisturbed);
    }
    if (now.stage == LeaveStage::kDraining && now.gate_closed && now.gate_for >= 100 * kMillisecond) {
      ASSERT_TRUE(action == LeaveAction::kOpenGate || action == LeaveAction::kRelease || action == LeaveAction::kForce);
    }
  });
}

// With a queue that works, whatever else is the case, the wait for silence or quiet ends at the deadline.
TEST(LeavePolicy, WhatIsDrainedGoesByTheDeadline) {
  for_each_situation([](const LeavingOptions&, const LeaveSituation& now, LeaveAction action) {
    if (now.stage != LeaveStage::kDraining || !now.drained || now.since_asked < kDeadline) return;
    ASSERT_TRUE(action == LeaveAction::kRelease || action == LeaveAction::kForce);
  });
}

TEST(LeavePolicy, TheRateYieldsToTheDeadline) {
  LeavingOptions options;
  options.batch = 256 * kMiB;
  options.bytes_per_second = kGiB;
  EXPECT_EQ(leave_pause(options, 4 * kGiB, 60 * base::kSecond), 250 * kMillisecond);
  EXPECT_EQ(leave_pause(options, 4 * kGiB, 800 * kMillisecond), 25 * kMillisecond);  // 16 batches in half of it
  EXPECT_EQ(leave_pause(options, 4 * kGiB, 0), 0);
  EXPECT_EQ(leave_pause(options, 4 * kGiB, -kDeadline), 0);
  options.bytes_per_second = 0;
  EXPECT_EQ(leave_pause(options, 4 * kGiB, 60 * base::kSecond), 0);
}

}  // namespace
}  // namespace tidegate::pager
