// W-1 ... W-15: what is committed, budgets, the residency list.
#include "tests/wddm/bare_adapter.h"
#include "tests/wddm/rule_cases.h"

namespace tidegate::sim {
namespace {

win::QueryVideoMemoryInfo dxgi(Program& program, win::SegmentGroup group = win::SegmentGroup::kLocal) {
  win::QueryVideoMemoryInfo info{};
  (void)win::query_video_memory_info(program.process(), 0, 0, group, &info);
  return info;
}

bool two_groups(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  return dxgi(program, win::SegmentGroup::kNonLocal).budget > 0;
}

bool pages_of_64_kib(Profile profile) {
  WindowsWorld world(profile);
  Process& process = world.machine().start_process("p");
  EXPECT_TRUE(process.hold(0, 100 * kKiB));
  return wddm::ledgers_of(process).committed == 128 * kKiB;
}

bool half_of_ram_bounds_the_rest(Profile profile) {
  profile.wddm.ram = 2 * kGiB;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  EXPECT_TRUE(allocates(program, 5 * kGiB));
  return !allocates(program, 3 * kGiB);
}

bool more_than_exists_is_committed(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  return allocates(program, 4 * kGiB) && allocates(program, 4 * kGiB);
}

bool answers_the_calling_process(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  win::QueryVideoMemoryInfo info{};
  return win::query_video_memory_info(program.process(), 0, 0, win::SegmentGroup::kLocal, &info) == win::kOk &&
         info.budget > 0;
}

bool growth_moves_no_budget(Profile profile) {
  WindowsWorld world(profile);
  Program observer(world.machine(), "observer");
  Program sibling(world.machine(), "sibling");
  const Bytes budget = dxgi(observer).budget;
  sibling.grow(2 * kGiB);
  return dxgi(observer).budget == budget;
}

bool free_is_budget_less_own_usage(Profile profile) {
  WindowsWorld world(profile);
  Program observer(world.machine(), "observer");
  Program sibling(world.machine(), "sibling");
  const Bytes before = free_of(observer);
  sibling.grow(2 * kGiB);
  if (!free_is(observer, before)) return false;
  observer.take(512 * kMiB);
  return free_is(observer, before - 512 * kMiB);
}

bool an_idle_budget_is_095_of_the_card(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const double part = static_cast<double>(dxgi(program).budget) / static_cast<double>(profile.total);
  return part > 0.945 && part < 0.955 && dxgi(program).available_for_reservation == dxgi(program).budget / 2;
}

bool usage_is_the_process_s_own(Profile profile) {
  WindowsWorld world(profile);
  Program observer(world.machine(), "observer");
  Program sibling(world.machine(), "sibling");
  const Bytes before = dxgi(observer).current_usage;
  sibling.grow(kGiB);
  return dxgi(observer).current_usage == before;
}

bool one_submission_needs_the_whole_list(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const auto first = program.map(64 * kMiB);
  const auto second = program.map(64 * kMiB);
  program.touch(first.va);
  program.touch(second.va);
  EXPECT_TRUE(wddm::evict_process(program.process()));
  program.touch(first.va);
  return wddm::ledgers_of(program.process()).demoted == 0;
}

bool residency_is_counted(Profile profile) {
  Bare bare(profile);
  const vidmm::AllocId id = bare.create(64 * kMiB);
  (void)vidmm::make_resident(bare.adapter, bare.client(), {id}, false, {}, 0);
  (void)vidmm::make_resident(bare.adapter, bare.client(), {id}, false, {}, 0);
  vidmm::evict(bare.adapter, bare.client(), id);
  return bare.adapter.allocs.at(id).references == 1;
}

bool a_batch_is_all_or_nothing(Profile profile) {
  Bare bare(profile);
  const vidmm::AllocId first = bare.create(600 * kMiB);
  const vidmm::AllocId second = bare.create(600 * kMiB);
  const auto made = vidmm::make_resident(bare.adapter, bare.client(), {first, second}, false, {}, 0);
  const bool refused = made.status == vidmm::Residency::kOutOfMemory && made.bytes_to_trim == 176 * kMiB;
  const bool untouched = bare.adapter.allocs.at(first).references == 0 && !bare.client().in_error;
  (void)vidmm::make_resident(bare.adapter, bare.client(), {first, second}, true, {}, 0);
  return refused && untouched && bare.client().in_error;
}

constexpr RuleCase kCases[] = {
    {"W-1", two_groups},
    {"W-2", pages_of_64_kib},
    {"W-3", half_of_ram_bounds_the_rest},
    {"W-4", more_than_exists_is_committed},
    {"W-5", more_than_exists_is_committed},
    {"W-6", answers_the_calling_process},
    {"W-9", growth_moves_no_budget},
    {"W-10", free_is_budget_less_own_usage},
    {"W-11", an_idle_budget_is_095_of_the_card},
    {"W-12", usage_is_the_process_s_own},
    {"W-13", one_submission_needs_the_whole_list},
    {"W-14", residency_is_counted},
    {"W-15", a_batch_is_all_or_nothing},
};

}  // namespace

std::span<const RuleCase> residency_cases() { return kCases; }

}  // namespace tidegate::sim
