// C-1 ... C-4 and A.4: what holds for any card.
#include "tests/wddm/rule_cases.h"

namespace tidegate::sim {
namespace {

bool calls_fail_now_and_then_and_change_nothing(Profile profile) {
  profile.out_of_memory_probability = 0.3;
  WindowsWorld world(profile);
  Process& process = world.machine().start_process("p");
  driver::Driver& cuda = process.driver();
  EXPECT_OK(cuda.init(0));
  cu::Context context = nullptr;
  while (cuda.device_primary_ctx_retain(&context, 0) == cu::kOutOfMemory) {
  }
  EXPECT_OK(cuda.ctx_set_current(context));
  int failed = 0;
  for (int i = 0; i < 100; ++i) {
    const Bytes before = world.machine().used();
    const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
    cu::MemHandle handle = 0;
    cu::Event event = nullptr;
    const cu::Status made = cuda.mem_create(&handle, 2 * kMiB, &prop, 0);
    if (made == cu::kSuccess) {
      EXPECT_OK(cuda.mem_release(handle));
    } else {
      EXPECT_EQ(made, cu::kOutOfMemory);
      EXPECT_EQ(handle, 0u);
      EXPECT_EQ(world.machine().used(), before);
      ++failed;
    }
    failed += cuda.event_create(&event, 0) == cu::kOutOfMemory ? 1 : 0;
  }
  return failed > 30 && failed < 90;
}

bool sizes_are_multiples_of_the_granularity(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
  cu::DevicePtr va = 0;
  cu::MemHandle handle = 0;
  return program.cuda().mem_address_reserve(&va, 3 * kMiB, 0, 0, 0) == cu::kInvalidValue &&
         program.cuda().mem_create(&handle, 3 * kMiB, &prop, 0) == cu::kInvalidValue;
}

bool unmapping_in_use_is_told(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const auto frame = program.map(64 * kMiB);
  program.submit(frame.va);
  EXPECT_OK(program.cuda().mem_unmap(frame.va, frame.bytes));
  return world.machine().hazards().hits("H-4") == 1;
}

bool faults_stay_with_the_context(Profile profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  EXPECT_FALSE(allocates(program, 100 * kGiB));  // OUT_OF_MEMORY does not
  const driver::CheckKernels kernels = driver::CheckKernels::load(program.cuda()).value();
  const cu::DevicePtr nowhere = program.take(2 * kMiB) + (cu::DevicePtr{1} << 38);
  EXPECT_OK(kernels.launch_work(program.cuda(), nowhere, 1, 1000, program.stream()));
  const cu::Status first = program.cuda().stream_synchronize(program.stream());
  cu::Event event = nullptr;
  return first == cu::kIllegalAddress && program.cuda().event_create(&event, 0) == cu::kIllegalAddress;
}

// One call in fifty is slow, by the profile's factor; the mean stays.
bool mapping_calls_have_a_tail(const Profile& profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  const CallCost& cost = profile.cost(driver::FunctionId::mem_create);
  const cu::MemProp prop{cu::kAllocationPinned, 0, {cu::kLocationDevice, 0}, nullptr, {}};
  const auto mean = static_cast<double>(cost.of(2 * kMiB));
  int slow = 0;
  double sum = 0;
  constexpr int kCalls = 2000;
  for (int i = 0; i < kCalls; ++i) {
    cu::MemHandle handle = 0;
    const base::Nanos before = world.executor().now();
    EXPECT_OK(program.cuda().mem_create(&handle, 2 * kMiB, &prop, 0));
    const auto took = static_cast<double>(world.executor().now() - before);
    slow += took > 0.99 * cost.slow_factor * mean ? 1 : 0;
    sum += took;
    EXPECT_OK(program.cuda().mem_release(handle));
  }
  EXPECT_NEAR(sum / kCalls, mean, 0.2 * mean);
  return slow > kCalls / 100 && slow < kCalls / 33;
}

bool a_pending_page_in_delays_mapping_calls(const Profile& profile) {
  WindowsWorld world(profile);
  Program program(world.machine(), "p");
  program.grow(2 * kGiB);
  const cu::DevicePtr other = program.take(2 * kMiB);
  EXPECT_TRUE(wddm::evict_process(program.process()));
  program.submit(other);
  const base::Nanos before = world.executor().now();
  for (int i = 0; i < 10; ++i) (void)program.map(2 * kMiB);
  return world.executor().now() - before > 100 * base::kMillisecond;
}

bool calls_have_slow_cases(Profile profile) {
  const bool tail = mapping_calls_have_a_tail(profile);
  const bool delay = a_pending_page_in_delays_mapping_calls(profile);
  EXPECT_EQ(tail, delay);
  return tail && delay;
}

constexpr RuleCase kCases[] = {
    {"C-1", calls_fail_now_and_then_and_change_nothing},
    {"C-2", sizes_are_multiples_of_the_granularity},
    {"C-3", unmapping_in_use_is_told},
    {"C-4", faults_stay_with_the_context},
    {"A.4", calls_have_slow_cases},
};

}  // namespace

std::span<const RuleCase> common_cases() { return kCases; }

}  // namespace tidegate::sim
