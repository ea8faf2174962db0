// W-20 ... W-36: the paging queue, destruction, page tables, demotion, knobs.
#include "tests/wddm/bare_adapter.h"
#include "tests/wddm/rule_cases.h"

namespace tidegate::sim {
namespace {

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
  Program busy(world.machine(), "busy");
  Program idle(world.machine(), "idle");
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

bool destruction_heeds_its_flags(Profile profile) {
  profile.wddm.synchronous_destroy = true;
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const auto frame = program.map(64 * kMiB);
  program.touch(frame.va);
  const Bytes before = free_of(program);
  program.unmap(frame);
  return free_is(program, before + 64 * kMiB);
}

bool the_driver_assumes_that_nothing_is_in_use(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  EXPECT_TRUE(wddm::delay_execution(program.process(), base::kSecond));
  program.unmap(program.map(64 * kMiB));
  return world.machine().hazards().hits("H-1") == 1;
}

// The slot's mapping operation is found still queued when the next tenant comes.
bool mappings_write_page_tables(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  EXPECT_TRUE(wddm::delay_execution(program.process(), base::kSecond));
  const auto first = program.map(2 * kMiB);
  EXPECT_OK(program.cuda().mem_unmap(first.va, first.bytes));
  (void)program.map(2 * kMiB, first.va);
  const Hazards found = world.machine().hazards();
  return found.hits("H-8") + found.exposures("H-8") == 1;
}

constexpr RuleCase kCases[] = {
    {"W-20", the_queue_is_first_in_first_out},
    {"W-21", work_waits_for_the_paging_fence},
    {"W-22", a_freed_address_s_queued_mapping_is_ignored},
    {"W-24", destruction_waits_unless_told_otherwise},
    {"W-25", destruction_heeds_its_flags},
    {"W-26", the_driver_assumes_that_nothing_is_in_use},
    {"W-27", released_memory_comes_back_later},
    {"W-28", mappings_write_page_tables},
    {"W-29", a_slot_s_new_tenant_may_meet_the_old_one},
    {"W-30", a_slot_s_new_tenant_may_meet_the_old_one},
    {"W-31", a_sibling_is_demoted},
    {"W-32", the_longest_idle_is_the_victim},
    {"W-33", a_demoted_pass_costs_its_page_in},
    {"W-34", a_suspended_process_stands_still},
    {"W-36", the_four_knobs_turn},
};

}  // namespace

std::span<const RuleCase> paging_cases() { return kCases; }

}  // namespace tidegate::sim
