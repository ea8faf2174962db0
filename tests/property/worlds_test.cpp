// Seeded worlds: I1, I3, I4, I9 and I10 under everything that the interface allows and the driver may answer.
//
//   TIDEGATE_SEED=n     the first seed (default: the shard's own)
//   TIDEGATE_WORLDS=m   how many seeds
//   TIDEGATE_TRACE=file  writes the last world's trace there
//   TIDEGATE_NIGHTLY=1  20 times as many
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/property/world.h"

namespace tidegate::property {
namespace {

constexpr Shape kOneCaller{.name = "OneCaller"};
constexpr Shape kCallers{.name = "ManyCallers", .most_threads = 4};
constexpr Shape kFaults{.name = "FaultyDriver", .most_threads = 2, .faults = true};
constexpr Shape kStatic{.name = "StaticMode", .most_threads = 3, .mode = Mode::kStatic};
constexpr Shape kOff{.name = "OffMode", .most_threads = 3, .mode = Mode::kOff};
constexpr Shape kStaticFaults{.name = "FaultyStatic", .most_threads = 2, .faults = true, .mode = Mode::kStatic};
constexpr Shape kOffFaults{.name = "FaultyOff", .most_threads = 2, .faults = true, .mode = Mode::kOff};
constexpr Shape kReal{.name = "RealFrames", .most_threads = 2, .real_granularity = true};
constexpr Shape kTraced{.name = "SameSeedSameTrace", .most_threads = 4, .faults = true, .trace = true};

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Seeds {
  std::uint64_t first;
  std::uint64_t count;
};

Seeds seeds(std::uint64_t shard, std::uint64_t count) {
  const bool nightly = number_from("TIDEGATE_NIGHTLY", 0) != 0;
  return {number_from("TIDEGATE_SEED", shard * 1'000'000 + 1),
          number_from("TIDEGATE_WORLDS", count * (nightly ? 20 : 1))};
}

void run_worlds(Shape shape, std::uint64_t shard, std::uint64_t count) {
  const Seeds range = seeds(shard, count);
  shape.trace = std::getenv("TIDEGATE_TRACE") != nullptr;
  std::uint64_t checked = 0;
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    World world(shape, seed);
    const std::string error = world.run();
    if (const char* file = std::getenv("TIDEGATE_TRACE"); file != nullptr && shape.trace)
      std::ofstream(file) << world.trace();
    ASSERT_TRUE(error.empty()) << describe(shape, seed, error);
    checked += world.checked_uses();
  }
  EXPECT_GT(checked, 0u);
}

class Worlds : public testing::TestWithParam<int> {
 protected:
  void run(const Shape& shape, std::uint64_t count) {
    run_worlds(shape, static_cast<std::uint64_t>(GetParam()), count);
  }
};

TEST_P(Worlds, I1_I3_I4_I9_OneCaller) { run(kOneCaller, 200); }
TEST_P(Worlds, I1_I3_I4_I9_ManyCallers) { run(kCallers, 200); }
TEST_P(Worlds, I1_I3_I4_I9_FaultyDriver) { run(kFaults, 200); }
INSTANTIATE_TEST_SUITE_P(Shard, Worlds, testing::Range(0, 4));

TEST(OtherWorlds, I1_I3_I9_StaticMode) { run_worlds(kStatic, 0, 60); }
TEST(OtherWorlds, I1_I9_OffMode) { run_worlds(kOff, 0, 60); }
TEST(OtherWorlds, I1_I3_I9_FaultyStatic) { run_worlds(kStaticFaults, 0, 60); }
TEST(OtherWorlds, I1_I9_FaultyOff) { run_worlds(kOffFaults, 0, 60); }
TEST(OtherWorlds, I1_I3_I4_I9_RealFrames) { run_worlds(kReal, 0, 10); }

TEST(OtherWorlds, I10_SameSeedSameTrace) {
  const Seeds range = seeds(0, 20);
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    std::string traces[2];
    for (std::string& trace : traces) {
      World world(kTraced, seed);
      const std::string error = world.run();
      ASSERT_TRUE(error.empty()) << describe(kTraced, seed, error);
      trace = world.trace();
    }
    ASSERT_TRUE(traces[0] == traces[1]) << describe(kTraced, seed, "I10: two runs differ");
    ASSERT_FALSE(traces[0].empty());
  }
}

}  // namespace
}  // namespace tidegate::property
