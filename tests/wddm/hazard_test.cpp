// The hazards of Windows, each by the shortest sequence of calls that shows it, as a hit and as an exposure, and clean
// where the proof is there. `delay_execution` holds the window open, so that no seed is needed to hit it.
#include "tests/wddm/wddm_fixture.h"

namespace tidegate::sim {
namespace {

class WindowsHazards : public testing::Test {
 protected:
  std::uint64_t hits(const char* rule) { return world_.machine().hazards().hits(rule); }
  std::uint64_t exposures(const char* rule) { return world_.machine().hazards().exposures(rule); }
  void expect_clean() {
    const Hazards found = world_.machine().hazards();
    EXPECT_EQ(found.total_hits() + found.total_exposures(), 0u) << found.text();
  }
  void hold_queue() { EXPECT_TRUE(wddm::delay_execution(program_.process(), base::kSecond)); }

  WindowsWorld world_{rtx3050()};
  Program program_{world_.machine(), "p"};
};

// B.2-4: a chunk that was mapped and never touched.
TEST_F(WindowsHazards, H1ReleaseUnderAPendingMapping) {
  hold_queue();
  const auto frame = program_.map(32 * kMiB);
  program_.unmap(frame);
  EXPECT_EQ(hits("H-1"), 1u);
  const Hazard found = world_.machine().hazards().list().front();
  EXPECT_EQ(found.call, "mem_release");
  EXPECT_EQ(found.process, program_.process().id());
  EXPECT_EQ(found.call_index, program_.process().stats().total_calls);
  EXPECT_NE(found.bugcheck.find("0x10E/0x38"), std::string::npos);
  const std::string earlier = "call " + std::to_string(found.call_index - 2) + " mem_set_access";
  EXPECT_NE(found.what.find(earlier), std::string::npos) << found.what;
}

TEST_F(WindowsHazards, H1NeverTouchedIsNeverProved) {
  const auto frame = program_.map(32 * kMiB);
  world_.pass(base::kSecond);
  EXPECT_OK(program_.cuda().ctx_synchronize());  // a synchronise is no proof
  program_.unmap(frame);
  EXPECT_EQ(hits("H-1"), 0u);
  EXPECT_EQ(exposures("H-1"), 1u);
}

TEST_F(WindowsHazards, H1SubmittedButNotSeenCompleteIsAnExposure) {
  const auto frame = program_.map(32 * kMiB);
  program_.submit(program_.map(2 * kMiB).va);  // any work of the device waits for its whole list
  world_.pass(base::kSecond);
  program_.unmap(frame);
  EXPECT_EQ(exposures("H-1"), 1u);
}

TEST_F(WindowsHazards, H1TouchedAndSeenCompleteIsSettled) {
  hold_queue();
  const auto frame = program_.map(32 * kMiB);
  program_.touch(frame.va);
  program_.unmap(frame);
  expect_clean();
}

// The counterexample to draining alone: the frame is settled, a sibling demotes it, another thread of the process
// submits, its page-in is pending, and the frame is released.
TEST_F(WindowsHazards, H1ADemotedFrameIsPagedInByAnotherThreadsWork) {
  const auto frame = program_.map(kGiB);
  const auto other = program_.map(2 * kMiB);
  program_.touch(frame.va);
  program_.touch(other.va);
  Program sibling(world_.machine(), "sibling");
  sibling.grow(5 * kGiB);
  EXPECT_GE(wddm::ledgers_of(program_.process()).demoted, kGiB);
  program_.submit(other.va);
  program_.unmap(frame);
  EXPECT_EQ(hits("H-1"), 1u);
}

// The same without the submission: nothing is pending, so nothing is wrong.
TEST_F(WindowsHazards, H1ADemotedFrameOfAnIdleProcessMayGo) {
  const auto frame = program_.map(kGiB);
  program_.touch(frame.va);
  Program sibling(world_.machine(), "sibling");
  sibling.grow(5 * kGiB);
  EXPECT_GE(wddm::ledgers_of(program_.process()).demoted, kGiB);
  program_.unmap(frame);
  expect_clean();
}

// B.2-1: a slot's next tenant, while its large entry still names the one before.
TEST_F(WindowsHazards, H2ASlotsNextTenant) {
  const auto frame = program_.map(2 * kMiB);
  program_.touch(frame.va);
  program_.unmap(frame);
  const auto next = program_.map(2 * kMiB, frame.va);
  EXPECT_EQ(hits("H-2"), 1u);
  EXPECT_NE(world_.machine().hazards().list().front().bugcheck.find("ExpandLargePagePte"), std::string::npos);
  program_.touch(next.va);
  world_.pass(base::kSecond);
  program_.unmap(next);
  EXPECT_EQ(hits("H-1") + exposures("H-1"), 0u);
}

TEST_F(WindowsHazards, H2TimeIsNoProofThatASlotWasCleared) {
  const auto frame = program_.map(2 * kMiB);
  program_.touch(frame.va);
  program_.unmap(frame);
  world_.pass(base::kSecond);
  (void)program_.map(2 * kMiB, frame.va);
  EXPECT_EQ(hits("H-2"), 0u);
  EXPECT_EQ(exposures("H-2"), 1u);
}

// a canary mapped and touched since then is.
TEST_F(WindowsHazards, H2ACanaryProvesThatASlotWasCleared) {
  auto canary = program_.map(2 * kMiB);
  program_.touch(canary.va);
  for (int round = 0; round < 100; ++round) {
    const auto frame = program_.map(32 * kMiB, round == 0 ? 0 : canary.va + 2 * kMiB);
    program_.touch(frame.va);
    program_.unmap(frame);
    EXPECT_OK(program_.cuda().mem_unmap(canary.va, canary.bytes));
    EXPECT_OK(program_.cuda().mem_map(canary.va, canary.bytes, 0, canary.handle, 0));
    while (program_.set_access(canary) == cu::kNotReady) {
    }
    program_.touch(canary.va);
    if (round == 0) {  // the rest goes where it was
      EXPECT_OK(program_.cuda().mem_address_free(frame.va, frame.bytes));
      cu::DevicePtr again = 0;
      EXPECT_OK(program_.cuda().mem_address_reserve(&again, 32 * kMiB, 0, canary.va + 2 * kMiB, 0));
      EXPECT_EQ(again, canary.va + 2 * kMiB);
    }
  }
  expect_clean();
}

// W-22: a reservation that was freed is the next one's place, and old slots come with it (B.2-2).
TEST_F(WindowsHazards, H2FreedAddressesComeAgain) {
  const auto frame = program_.map(64 * kMiB);
  program_.touch(frame.va);
  program_.unmap(frame);
  EXPECT_OK(program_.cuda().mem_address_free(frame.va, frame.bytes));
  const auto next = program_.map(2 * kMiB);
  EXPECT_EQ(next.va, frame.va);
  EXPECT_EQ(hits("H-2"), 1u);
}

// B.2-2: a small allocation of the driver's own lands in an old slot.
TEST_F(WindowsHazards, H2APlainAllocationInAnOldSlot) {
  const auto frame = program_.map(64 * kMiB);
  program_.touch(frame.va);
  program_.unmap(frame);
  EXPECT_OK(program_.cuda().mem_address_free(frame.va, frame.bytes));
  EXPECT_EQ(program_.take(kMiB), frame.va);
  EXPECT_EQ(hits("H-2"), 1u);
}

// The driver waits for its own paging: cuMemAlloc and cuMemFree by themselves are harmless.
TEST_F(WindowsHazards, PlainAllocationsMayComeAndGo) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(program_.cuda().mem_free(program_.take(64 * kMiB)));
    EXPECT_OK(program_.cuda().mem_free(program_.take(kMiB)));
  }
  expect_clean();
}

TEST_F(WindowsHazards, H2TheSameAllocationInItsOwnSlotIsFine) {
  const auto frame = program_.map(32 * kMiB);
  program_.touch(frame.va);
  for (int round = 0; round < 3; ++round) {
    EXPECT_OK(program_.cuda().mem_unmap(frame.va, frame.bytes));
    EXPECT_OK(program_.cuda().mem_map(frame.va, frame.bytes, 0, frame.handle, 0));
    EXPECT_OK(program_.set_access(frame));
    program_.touch(frame.va);
  }
  expect_clean();
}

TEST_F(WindowsHazards, H3ADeviceThatGoesWithItsListFull) {
  const auto frame = program_.map(32 * kMiB);
  program_.touch(frame.va);
  EXPECT_OK(program_.cuda().device_primary_ctx_release(0));
  EXPECT_EQ(hits("H-3"), 0u);
  EXPECT_EQ(exposures("H-3"), 1u);
}

TEST_F(WindowsHazards, H3ADeviceThatGoesWithItsQueueBusy) {
  hold_queue();
  (void)program_.map(32 * kMiB);
  EXPECT_OK(program_.cuda().device_primary_ctx_release(0));
  EXPECT_EQ(hits("H-3"), 1u);
}

TEST_F(WindowsHazards, H3AnOrderlyEndIsFine) {
  const auto frame = program_.map(32 * kMiB);
  program_.touch(frame.va);
  program_.unmap(frame);
  cu::MemPool pool = nullptr;  // the driver's own memory goes with the device
  std::uint64_t keep = ~std::uint64_t{0};
  EXPECT_OK(program_.cuda().device_get_default_mem_pool(&pool, 0));
  EXPECT_OK(program_.cuda().mem_pool_set_attribute(pool, cu::kPoolReleaseThreshold, &keep));
  cu::DevicePtr ptr = 0;
  EXPECT_OK(program_.cuda().mem_alloc_async(&ptr, kMiB, program_.stream()));
  EXPECT_OK(program_.cuda().mem_free_async(ptr, program_.stream()));
  program_.touch(program_.take(kMiB));
  EXPECT_OK(program_.cuda().device_primary_ctx_release(0));
  expect_clean();
}

TEST_F(WindowsHazards, H4OneOfThreeOutcomes) {
  int silent = 0;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    WindowsWorld world(rtx3050(), seed);
    Program program(world.machine(), "p");
    const auto frame = program.map(32 * kMiB);
    program.touch(frame.va);
    EXPECT_OK(program.cuda().memcpy_htod_async(frame.va, contents(), frame.bytes, program.stream()));
    EXPECT_OK(program.cuda().mem_unmap(frame.va, frame.bytes));
    EXPECT_EQ(world.machine().hazards().hits("H-4"), 1u);
    ++(program.cuda().stream_synchronize(program.stream()) == cu::kSuccess ? silent : failed);
  }
  EXPECT_GT(silent, 5);
  EXPECT_GT(failed, 10);
}

TEST_F(WindowsHazards, H6KilledWhileItsQueueIsBusy) {
  hold_queue();
  (void)program_.map(32 * kMiB);
  world_.machine().kill(program_.process());
  EXPECT_EQ(hits("H-6"), 1u);
}

TEST_F(WindowsHazards, H6KilledWhenAllIsSettled) {
  program_.touch(program_.map(32 * kMiB).va);
  world_.machine().kill(program_.process());
  expect_clean();
}

TEST_F(WindowsHazards, H6TheTimeOfItsPreconditionIsCounted) {
  hold_queue();
  program_.touch(program_.map(32 * kMiB).va);
  const base::Nanos pending = wddm::ledgers_of(program_.process()).pending_time;
  EXPECT_GT(pending, base::kSecond * 9 / 10);
  EXPECT_LT(pending, base::kSecond * 11 / 10);
}

TEST_F(WindowsHazards, H8AnOlderMappingIsStillQueued) {
  hold_queue();
  const auto first = program_.map(2 * kMiB);
  EXPECT_OK(program_.cuda().mem_unmap(first.va, first.bytes));
  const auto second = program_.map(2 * kMiB, first.va);
  EXPECT_EQ(exposures("H-8"), 1u);
  program_.touch(second.va);
  EXPECT_EQ(hits("H-8"), 0u);
}

TEST_F(WindowsHazards, H9NotReadyIsNotTheEnd) {
  Profile profile = rtx3050();
  profile.wddm.not_ready_probability = 1;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  program.touch(program.map(64 * kMiB).va);
  EXPECT_TRUE(wddm::evict_process(program.process()));
  auto frame = program.map(2 * kMiB);  // tries again
  EXPECT_EQ(program.not_ready(), 1u);
  EXPECT_EQ(program.process().stats().not_ready, 1u);
  EXPECT_EQ(world.machine().hazards().hits("H-9"), 0u);
  program.touch(frame.va);
  program.unmap(frame);
  world.pass(2 * base::kSecond);
  EXPECT_TRUE(wddm::evict_process(program.process()));
  const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
  EXPECT_OK(program.cuda().mem_address_reserve(&frame.va, frame.bytes, 0, 0, 0));
  EXPECT_OK(program.cuda().mem_create(&frame.handle, frame.bytes, &prop, 0));
  EXPECT_OK(program.cuda().mem_map(frame.va, frame.bytes, 0, frame.handle, 0));
  EXPECT_EQ(program.set_access(frame), cu::kNotReady);
  program.unmap(frame);  // gives up at once
  EXPECT_EQ(world.machine().hazards().hits("H-9"), 1u);
}

TEST_F(WindowsHazards, H10AddressesFreedTooOften) {
  const auto frame = program_.map(2 * kMiB);
  EXPECT_NE(program_.cuda().mem_address_free(frame.va, frame.bytes), cu::kSuccess);
  EXPECT_EQ(exposures("H-10"), 1u);
  Profile profile = rtx3050();
  profile.wddm.va_churn_limit = 10;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  for (int i = 0; i < 12; ++i) {
    cu::DevicePtr va = 0;
    EXPECT_OK(program.cuda().mem_address_reserve(&va, 2 * kMiB, 0, 0, 0));
    EXPECT_OK(program.cuda().mem_address_free(va, 2 * kMiB));
  }
  EXPECT_EQ(world.machine().hazards().exposures("H-10"), 2u);
}

// W-43: a synchronise destroys what pools hold above their threshold, whatever the paging queue is doing.
TEST_F(WindowsHazards, H11ASynchroniseDestroysPoolMemory) {
  for (const bool keeps : {false, true}) {
    WindowsWorld world(rtx3050());
    Program program(world.machine(), "p");
    cu::MemPool pool = nullptr;
    EXPECT_OK(program.cuda().device_get_default_mem_pool(&pool, 0));
    std::uint64_t threshold = keeps ? ~std::uint64_t{0} : 0;
    EXPECT_OK(program.cuda().mem_pool_set_attribute(pool, cu::kPoolReleaseThreshold, &threshold));
    cu::DevicePtr ptr = 0;
    EXPECT_OK(program.cuda().mem_alloc_async(&ptr, 64 * kMiB, program.stream()));
    EXPECT_OK(program.cuda().memset_d8_async(ptr, 1, 64 * kMiB, program.stream()));
    EXPECT_OK(program.cuda().mem_free_async(ptr, program.stream()));
    world.pass(base::kSecond);
    EXPECT_TRUE(wddm::delay_execution(program.process(), base::kSecond));
    (void)program.map(32 * kMiB);  // pending
    EXPECT_OK(program.cuda().stream_synchronize(program.stream()));
    EXPECT_EQ(world.machine().hazards().exposures("H-11"), keeps ? 0u : 1u) << world.machine().hazards().text();
    EXPECT_EQ(world.machine().hazards().hits("H-11"), 0u);
  }
}

}  // namespace
}  // namespace tidegate::sim
