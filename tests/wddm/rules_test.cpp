// Each rule has a switch: what is asserted with the rule on must be absent with it off.
#include "sim/vidmm/vidmm.h"
#include "tests/wddm/wddm_fixture.h"

namespace tidegate::sim {
namespace {

using Observe = bool (*)(Profile profile);

struct RuleCase {
  int rule;
  const char* says;
  Observe holds;
};

void PrintTo(const RuleCase& tested, std::ostream* out) { *out << "W-" << tested.rule; }

bool free_is(Program& program, Bytes bytes) {
  return program.free_mib() == static_cast<double>(bytes) / static_cast<double>(kMiB);
}

Bytes free_of(Program& program) { return static_cast<Bytes>(program.free_mib()) * kMiB; }

win::QueryVideoMemoryInfo dxgi(Program& program, win::SegmentGroup group = win::SegmentGroup::kLocal) {
  win::QueryVideoMemoryInfo info{};
  (void)win::query_video_memory_info(program.process(), 0, 0, group, &info);
  return info;
}

bool allocates(Program& program, Bytes bytes) {
  program.enter();
  cu::DevicePtr ptr = 0;
  return program.cuda().mem_alloc(&ptr, bytes) == cu::kSuccess;
}

// A bare video memory manager of 1 GiB with one process.
struct Bare {
  explicit Bare(const Profile& profile) {
    adapter.parameters = profile.wddm;
    adapter.vram = adapter.capacity = kGiB;
    adapter.vram_gb_per_s = 100;
  }
  vidmm::Client& client() { return vidmm::client_of(adapter, 1); }
  vidmm::AllocId create(Bytes bytes) { return vidmm::create(adapter, client(), vidmm::Kind::kVmm, bytes, {}, 0); }

  vidmm::Adapter adapter;
};

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

bool the_queue_is_first_in_first_out(Profile profile) {
  Bare bare(profile);
  base::Nanos last = 0;
  for (int i = 0; i < 100; ++i) {
    const vidmm::AllocId id = bare.create(2 * kMiB);
    (void)vidmm::make_resident(bare.adapter, bare.client(), {id}, false, {}, 0);
    const base::Nanos done = bare.adapter.allocs.at(id).pending_until;
    if (done < last) return false;
    last = done;
  }
  return true;
}

bool work_waits_for_the_paging_fence(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  program.grow(kGiB);
  EXPECT_TRUE(wddm::evict_process(program.process()));
  const base::Nanos before = world.executor().now();
  program.touch(program.map(2 * kMiB).va);
  return world.executor().now() - before > 200 * base::kMillisecond;
}

bool a_freed_address_s_queued_mapping_is_ignored(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  EXPECT_TRUE(wddm::delay_execution(program.process(), base::kSecond));
  const auto first = program.map(2 * kMiB);
  EXPECT_OK(program.cuda().mem_unmap(first.va, first.bytes));
  (void)program.map(2 * kMiB, first.va);
  const Hazards found = world.machine().hazards();
  EXPECT_EQ(found.hits("H-8") + found.exposures("H-8"), 1u);
  return found.hits("H-8") == 0;
}

bool destruction_waits_unless_told_otherwise(Profile profile) {
  profile.wddm.assume_not_in_use = false;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  EXPECT_TRUE(wddm::delay_execution(program.process(), base::kSecond));
  program.unmap(program.map(64 * kMiB));
  EXPECT_EQ(world.machine().hazards().hits("H-1"), 0u);
  world.pass(100 * base::kMillisecond);
  return wddm::card_ledgers_of(program.process()).reclaiming > 0;
}

bool released_memory_comes_back_later(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const Bytes before = free_of(program);
  const auto frame = program.map(64 * kMiB);
  program.touch(frame.va);
  program.unmap(frame);
  const bool low = !free_is(program, before);
  world.pass(10 * base::kMillisecond);
  EXPECT_TRUE(free_is(program, before));
  return low;
}

// Settled, unmapped and released as it should be, then the same addresses are used again at once.
bool a_slot_s_new_tenant_may_meet_the_old_one(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const auto frame = program.map(32 * kMiB);
  program.touch(frame.va);
  program.unmap(frame);
  (void)program.map(32 * kMiB, frame.va);
  const Hazards found = world.machine().hazards();
  return found.hits("H-2") + found.exposures("H-2") > 0;
}

bool a_sibling_is_demoted(Profile profile) {
  WindowsWorld world(profile);
  Program sibling(world.machine(), "sibling");
  Program parent(world.machine(), "parent");
  sibling.grow(4 * kGiB);
  parent.grow(4 * kGiB);
  return wddm::ledgers_of(sibling.process()).demoted > kGiB && wddm::ledgers_of(parent.process()).demoted == 0;
}

bool the_longest_idle_is_the_victim(Profile profile) {
  WindowsWorld world(profile);
  Program idle(world.machine(), "idle");
  Program busy(world.machine(), "busy");
  Program parent(world.machine(), "parent");
  busy.grow(2 * kGiB);
  idle.grow(2 * kGiB);
  (void)busy.pass_gb_per_s();
  parent.grow(3 * kGiB);
  return wddm::ledgers_of(idle.process()).demoted > 0 && wddm::ledgers_of(busy.process()).demoted == 0;
}

bool a_demoted_pass_costs_its_page_in(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  program.grow(2 * kGiB);
  const double fast = program.pass_gb_per_s();
  EXPECT_TRUE(wddm::evict_process(program.process()));
  const double slow = program.pass_gb_per_s();
  const double again = program.pass_gb_per_s();
  return slow < fast / 20 && again > fast * 0.99;
}

bool a_suspended_process_stands_still(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const cu::DevicePtr ptr = program.take(4 * kMiB);
  program.touch(ptr);
  EXPECT_TRUE(wddm::suspend(program.process(), 100 * base::kMillisecond));
  const base::Nanos before = world.executor().now();
  program.touch(ptr);
  return world.executor().now() - before >= 100 * base::kMillisecond;
}

bool the_four_knobs_turn(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  program.grow(2 * kGiB);
  vidmm::Knobs knobs;
  knobs.restrict_budget_local = kGiB;
  EXPECT_TRUE(wddm::set_knobs(program.process(), knobs));
  const bool restricted = wddm::ledgers_of(program.process()).resident <= kGiB;
  knobs = {};
  knobs.place_in_demoted_location = true;
  EXPECT_TRUE(wddm::set_knobs(program.process(), knobs));
  const Bytes demoted = wddm::ledgers_of(program.process()).demoted;
  program.take(64 * kMiB);
  const bool placed = wddm::ledgers_of(program.process()).demoted == demoted + 64 * kMiB;
  knobs = {};
  knobs.force_synchronous_evict = true;
  EXPECT_TRUE(wddm::set_knobs(program.process(), knobs));
  const auto frame = program.map(64 * kMiB);
  program.touch(frame.va);
  const Bytes before = free_of(program);
  program.unmap(frame);
  const bool inside = free_is(program, before + 64 * kMiB);
  EXPECT_TRUE(wddm::delay_execution(program.process(), base::kSecond));
  const base::Nanos start = world.executor().now();
  program.touch(program.map(2 * kMiB).va);
  const bool delayed = world.executor().now() - start > 900 * base::kMillisecond;
  return restricted && placed && inside && delayed;
}

bool mappings_keep_memory(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const Bytes before = world.machine().used();
  const auto frame = program.map(64 * kMiB);
  EXPECT_OK(program.cuda().mem_release(frame.handle));
  return world.machine().used() == before + 64 * kMiB;
}

bool unmap_waits_for_nothing(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const auto frame = program.map(64 * kMiB);
  program.submit(frame.va);
  EXPECT_OK(program.cuda().mem_unmap(frame.va, frame.bytes));
  return world.machine().hazards().hits("H-4") == 1;
}

bool access_is_not_ready_after_an_eviction(Profile profile) {
  int not_ready = 0;
  constexpr int kRuns = 200;
  for (int seed = 1; seed <= kRuns; ++seed) {
    WindowsWorld world(profile, static_cast<std::uint64_t>(seed));
    Program program(world.machine(), "p");
    program.touch(program.map(64 * kMiB).va);
    EXPECT_TRUE(wddm::evict_process(program.process()));
    program.touch(program.map(64 * kMiB).va);  // tries again until it is
    EXPECT_LE(program.not_ready(), 1u);
    not_ready += static_cast<int>(program.not_ready());
  }
  return not_ready > kRuns / 10 && not_ready < kRuns / 3;
}

bool without_fallback_what_does_not_fit_is_refused(Profile profile) {
  profile.wddm.sysmem_fallback = false;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  return allocates(program, 4 * kGiB) && !allocates(program, 4 * kGiB);
}

bool a_synchronise_gives_pool_memory_back(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const Bytes before = world.machine().used();
  cu::DevicePtr ptr = 0;
  EXPECT_OK(program.cuda().mem_alloc_async(&ptr, 64 * kMiB, program.stream()));
  EXPECT_OK(program.cuda().mem_free_async(ptr, program.stream()));
  EXPECT_EQ(world.machine().used(), before + 64 * kMiB);
  EXPECT_OK(program.cuda().stream_synchronize(program.stream()));
  return world.machine().used() == before;
}

bool page_locking_has_a_wall(Profile profile) {
  profile.wddm.ram = 64 * kMiB;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  void* host = nullptr;
  if (program.cuda().mem_host_alloc(&host, 24 * kMiB, 0) != cu::kSuccess) return false;
  return program.cuda().mem_host_alloc(&host, 24 * kMiB, 0) == cu::kOutOfMemory;
}

bool nvml_tells_no_process(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  (void)program.nvml_free_mib();
  nvml::Device device = nullptr;
  nvml::ProcessInfo info{};
  unsigned count = 1;
  EXPECT_EQ(program.process().nvml().device_get_handle_by_index(0, &device), nvml::kSuccess);
  EXPECT_EQ(program.process().nvml().device_get_compute_running_processes_v3(device, &count, &info), nvml::kSuccess);
  return info.used_gpu_memory == nvml::kValueNotAvailable;
}

constexpr RuleCase kCases[] = {
    {1, "two budget groups", two_groups},
    {2, "sizes in pages of 64 KiB", pages_of_64_kib},
    {3, "system memory for graphics is half of RAM", half_of_ram_bounds_the_rest},
    {4, "more is committed than exists", more_than_exists_is_committed},
    {5, "over budget is legal", more_than_exists_is_committed},
    {6, "DXGI answers the calling process", answers_the_calling_process},
    {9, "growth moves no budget", growth_moves_no_budget},
    {10, "free is budget less own usage", free_is_budget_less_own_usage},
    {11, "an idle budget", an_idle_budget_is_095_of_the_card},
    {12, "usage is the process's own", usage_is_the_process_s_own},
    {13, "the whole list", one_submission_needs_the_whole_list},
    {14, "residency is counted", residency_is_counted},
    {15, "all or nothing", a_batch_is_all_or_nothing},
    {20, "first in, first out", the_queue_is_first_in_first_out},
    {21, "work waits for the fence", work_waits_for_the_paging_fence},
    {22, "queued mappings of freed addresses are ignored", a_freed_address_s_queued_mapping_is_ignored},
    {24, "destruction waits", destruction_waits_unless_told_otherwise},
    {27, "memory comes back later", released_memory_comes_back_later},
    {28, "page tables", a_slot_s_new_tenant_may_meet_the_old_one},
    {29, "no invalidation first", a_slot_s_new_tenant_may_meet_the_old_one},
    {30, "large entries have an owner", a_slot_s_new_tenant_may_meet_the_old_one},
    {31, "demotion", a_sibling_is_demoted},
    {32, "the longest idle", the_longest_idle_is_the_victim},
    {33, "the price of a page-in", a_demoted_pass_costs_its_page_in},
    {34, "suspension", a_suspended_process_stands_still},
    {36, "four knobs", the_four_knobs_turn},
    {39, "mappings keep memory", mappings_keep_memory},
    {40, "no implicit wait", unmap_waits_for_nothing},
    {41, "not ready after an eviction", access_is_not_ready_after_an_eviction},
    {42, "no fallback", without_fallback_what_does_not_fit_is_refused},
    {43, "pools at a synchronise", a_synchronise_gives_pool_memory_back},
    {44, "a wall for page-locked memory", page_locking_has_a_wall},
    {45, "NVML tells no process", nvml_tells_no_process},
};

class Rule : public testing::TestWithParam<RuleCase> {};

INSTANTIATE_TEST_SUITE_P(W, Rule, testing::ValuesIn(kCases),
                         [](const auto& tested) { return "W" + std::to_string(tested.param.rule); });

TEST_P(Rule, HoldsWithItAndNotWithout) {
  Profile profile = rtx3050();
  EXPECT_TRUE(GetParam().holds(profile)) << GetParam().says;
  profile.wddm.rules.set(GetParam().rule, false);
  EXPECT_FALSE(GetParam().holds(profile)) << GetParam().says << ", with the rule off";
}

}  // namespace
}  // namespace tidegate::sim
