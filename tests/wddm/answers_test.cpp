// What Windows would answer: DXGI and D3DKMT about the same ledgers, and the variants of a profile.
#include <cstring>

#include "tests/wddm/wddm_fixture.h"

namespace tidegate::sim {
namespace {

template <typename Information>
Information statistics(Process& caller, win::StatisticsType type, std::uint32_t selector, std::uint64_t process = 0) {
  win::QueryStatistics query{};
  std::memset(query.result, 0xA5, sizeof query.result);  // an answer that writes nothing is seen
  query.type = type;
  query.adapter_luid = win::luid_of(0);
  query.process = process;
  query.selector = selector;
  EXPECT_EQ(win::query_statistics(caller, &query), win::kStatusSuccess);
  Information information{};
  std::memcpy(&information, query.result, sizeof information);
  return information;
}

class WindowsAnswers : public testing::Test {
 protected:
  WindowsWorld world_{rtx3050()};
  Program first_{world_.machine(), "first"};
  Program second_{world_.machine(), "second"};
};

TEST_F(WindowsAnswers, SegmentsTellCommittedFromResident) {
  const Bytes contexts = 2 * 119 * kMiB;
  first_.take(2 * kGiB);  // untouched
  auto segment = statistics<win::SegmentInformation>(first_.process(), win::StatisticsType::kSegment, 0);
  EXPECT_EQ(segment.commit_limit, 5'994 * kMiB);
  EXPECT_EQ(segment.bytes_committed, contexts + 2 * kGiB);
  EXPECT_EQ(segment.bytes_resident, contexts + 705 * kMiB);
  EXPECT_EQ(segment.memory.total_bytes_evicted, 0u);
  first_.touch(first_.take(2 * kMiB));
  segment = statistics<win::SegmentInformation>(second_.process(), win::StatisticsType::kSegment, 0);
  EXPECT_EQ(segment.bytes_resident, segment.bytes_committed);
  const auto aperture = statistics<win::SegmentInformation>(first_.process(), win::StatisticsType::kSegment, 1);
  EXPECT_EQ(aperture.aperture, 1u);
  EXPECT_EQ(aperture.commit_limit, 32 * kGiB);  // W-3
}

TEST_F(WindowsAnswers, DemotionIsToldPerProcessAndPriority) {
  first_.grow(4 * kGiB);
  second_.grow(3 * kGiB);
  const auto id = static_cast<std::uint64_t>(first_.process().id());
  const auto group = statistics<win::ProcessSegmentGroupInformation>(second_.process(),
                                                                     win::StatisticsType::kProcessSegmentGroup, 0, id);
  const wddm::Ledgers ledgers = wddm::ledgers_of(first_.process());
  EXPECT_GE(ledgers.demoted, kGiB);
  EXPECT_EQ(group.demoted[2], ledgers.demoted);  // Normal
  EXPECT_EQ(group.usage, ledgers.usage);
  EXPECT_EQ(group.requested, ledgers.committed);
  EXPECT_EQ(group.budget, ledgers.budget);
  const auto segment =
      statistics<win::ProcessSegmentInformation>(second_.process(), win::StatisticsType::kProcessSegment, 0, id);
  EXPECT_EQ(segment.bytes_committed, ledgers.committed);
  EXPECT_EQ(segment.video_memory.total_bytes_evicted_due_to_preparation, ledgers.evicted_total);
  const auto all = statistics<win::SegmentInformation>(second_.process(), win::StatisticsType::kSegment, 0);
  EXPECT_EQ(all.total_bytes_evicted_by_priority[2], ledgers.evicted_total);
}

TEST_F(WindowsAnswers, LookingDisturbsNobody) {
  first_.grow(4 * kGiB);
  second_.grow(3 * kGiB);
  const wddm::Ledgers before = wddm::ledgers_of(first_.process());
  for (int i = 0; i < 10; ++i) {
    (void)statistics<win::SegmentInformation>(first_.process(), win::StatisticsType::kSegment, 0);
    (void)first_.free_mib();
    (void)first_.nvml_free_mib();
  }
  EXPECT_EQ(wddm::ledgers_of(first_.process()).resident, before.resident);
}

TEST_F(WindowsAnswers, ReservationsAreHintsOfAtMostHalfTheBudget) {
  win::QueryVideoMemoryInfo info{};
  const auto ask = [&] {
    EXPECT_EQ(win::query_video_memory_info(first_.process(), 0, 0, win::SegmentGroup::kLocal, &info), win::kOk);
  };
  ask();
  const std::uint64_t budget = info.budget;
  EXPECT_EQ(win::set_video_memory_reservation(first_.process(), 0, 0, win::SegmentGroup::kLocal, budget),
            win::kInvalidCall);
  EXPECT_EQ(win::set_video_memory_reservation(first_.process(), 0, 0, win::SegmentGroup::kLocal, kGiB), win::kOk);
  ask();
  EXPECT_EQ(info.budget, budget);  // W-7
  EXPECT_EQ(info.current_reservation, kGiB);
  EXPECT_EQ(info.available_for_reservation, budget / 2 - kGiB);
}

TEST_F(WindowsAnswers, WrongQuestionsAreRefused) {
  win::QueryStatistics query{};
  EXPECT_EQ(win::query_statistics(first_.process(), nullptr), win::kStatusInvalidParameter);
  EXPECT_EQ(win::query_statistics(first_.process(), &query), win::kStatusInvalidParameter);  // no such adapter
  query.adapter_luid = win::luid_of(0);
  query.type = win::StatisticsType::kNode;
  EXPECT_EQ(win::query_statistics(first_.process(), &query), win::kStatusNotSupported);
  query.type = win::StatisticsType::kSegment;
  query.selector = 2;
  EXPECT_EQ(win::query_statistics(first_.process(), &query), win::kStatusInvalidParameter);
  query.type = win::StatisticsType::kProcessSegment;
  query.process = 99;
  EXPECT_EQ(win::query_statistics(first_.process(), &query), win::kStatusInvalidParameter);
  win::QueryVideoMemoryInfo info{};
  EXPECT_EQ(win::query_video_memory_info(first_.process(), 0, 1, win::SegmentGroup::kLocal, &info), win::kInvalidCall);
  EXPECT_EQ(win::query_video_memory_info(first_.process(), 1, 0, win::SegmentGroup::kLocal, &info), win::kUnsupported);
  WindowsWorld linux_world(load_profile("rtx3050-6g-linux").value());
  Process& process = linux_world.machine().start_process("p");
  EXPECT_EQ(win::query_video_memory_info(process, 0, 0, win::SegmentGroup::kLocal, &info), win::kUnsupported);
}

// GT-3 under the other two ways to commit: eager shows all of it, a worker's fill shows what its time allowed.
TEST(WindowsProfile, UntouchedMemoryUnderEachCommitMode) {
  for (const auto mode : {vidmm::CommitMode::kEager, vidmm::CommitMode::kAsyncRate}) {
    Profile profile = rtx4060ti();
    profile.wddm.commit_mode = mode;
    WindowsWorld world(profile);
    Program holder(world.machine(), "holder");
    const double before = holder.nvml_free_mib();
    holder.take(4 * kGiB);
    if (mode == vidmm::CommitMode::kEager) {
      EXPECT_EQ(holder.nvml_free_mib(), before - 4'096);
      continue;
    }
    world.pass(base::kSecond);
    EXPECT_NEAR(before - holder.nvml_free_mib(), 1'879, 64);
    world.pass(base::kSecond);
    EXPECT_NEAR(before - holder.nvml_free_mib(), 2 * 1'879, 64);
    world.pass(base::kSecond);
    EXPECT_EQ(holder.nvml_free_mib(), before - 4'096);
  }
}

// W-44: the three published walls.
TEST(WindowsProfile, PageLockingUnderEachModel) {
  const auto pins = [](Program& program, Bytes bytes) {
    program.enter();
    return program.cuda().mem_host_register(reinterpret_cast<void*>(std::uintptr_t{1} << 45), bytes, 0);  // NOLINT
  };
  const auto unpin = [](Program& program) {
    EXPECT_OK(program.cuda().mem_host_unregister(reinterpret_cast<void*>(std::uintptr_t{1} << 45)));  // NOLINT
  };
  Profile profile = rtx3050();
  {
    WindowsWorld world(profile);
    Program program(world.machine(), "p");
    EXPECT_EQ(pins(program, 33 * kGiB), cu::kOutOfMemory);
    EXPECT_OK(pins(program, 31 * kGiB));
  }
  profile.wddm.pin_model = vidmm::PinModel::kVramCoupled;
  {
    WindowsWorld world(profile);
    Program program(world.machine(), "p");
    EXPECT_OK(pins(program, 5 * kGiB));
    unpin(program);
    program.grow(2 * kGiB);
    EXPECT_EQ(pins(program, 5 * kGiB), cu::kOutOfMemory);
    EXPECT_EQ(pins(program, 64 * kMiB), cu::kOutOfMemory);  // one failure poisons later calls
  }
  profile.wddm.pin_failure_sticky = false;
  {
    WindowsWorld world(profile);
    Program program(world.machine(), "p");
    EXPECT_EQ(pins(program, 7 * kGiB), cu::kOutOfMemory);
    EXPECT_OK(pins(program, 64 * kMiB));
  }
  profile.wddm.pin_model = vidmm::PinModel::kPerCall;
  {
    WindowsWorld world(profile);
    Program program(world.machine(), "p");
    EXPECT_EQ(pins(program, 3 * kGiB), cu::kOutOfMemory);
    EXPECT_OK(pins(program, 2 * kGiB));
  }
}

// A working set larger than the card: what does not fit stays in system memory and is read over the link.
TEST(WindowsProfile, AWorkingSetLargerThanTheCardRunsAtTheLinksSpeed) {
  WindowsWorld world(rtx3050());
  Program program(world.machine(), "p");
  program.grow(5 * kGiB);
  const double fast = program.pass_gb_per_s();
  program.grow(2 * kGiB);
  EXPECT_GT(wddm::ledgers_of(program.process()).demoted, kGiB);
  const double slow = program.pass_gb_per_s();
  EXPECT_LT(slow, fast / 5);
  EXPECT_NEAR(program.pass_gb_per_s(), slow, slow / 10);  // for ever
}

// W-46: without the video memory manager a card of Windows treats memory as Linux does.
TEST(WindowsProfile, TccIsAsLinux) {
  Profile profile = rtx3050();
  profile.personality = "tcc";
  WindowsWorld world(profile);
  Program observer(world.machine(), "observer");
  Program sibling(world.machine(), "sibling");
  const double before = observer.free_mib();
  sibling.grow(kGiB);
  EXPECT_EQ(observer.free_mib(), before - 1'024);
  cu::DevicePtr ptr = 0;
  EXPECT_EQ(observer.cuda().mem_alloc(&ptr, 5 * kGiB), cu::kOutOfMemory);
  int tcc = 0;
  EXPECT_OK(observer.cuda().device_get_attribute(&tcc, cu::kAttrTccDriver, 0));
  EXPECT_EQ(tcc, 1);
}

}  // namespace
}  // namespace tidegate::sim
