// The small parts of `tidegate run` that are functions of plain data.
#include <vector>

#include <gmock/gmock.h>

#include "cli/bounds.h"
#include "cli/host_plan.h"
#include "cli/quantities.h"
#include "cli/run_command.h"
#include "cli/seeded.h"
#include "src/base/checksum.h"

namespace tidegate::cli {
namespace {

TEST(Quantities, ReadsSizes) {
  EXPECT_EQ(parse_size("6GiB").value(), 6 * kGiB);
  EXPECT_EQ(parse_size("512 MiB").value(), 512 * kMiB);
  EXPECT_EQ(parse_size("1.5KiB").value(), 1536u);
  EXPECT_EQ(parse_size("2GB").value(), 2'000'000'000u);
  EXPECT_EQ(parse_size("4096B").value(), 4096u);
}

TEST(Quantities, RefusesWhatIsNoSize) {
  for (const char* text : {"", "6", "GiB", "-1GiB", "0MiB", "6gib", "6 GiB ", "1e9B", "1..5GiB", "99999999TiB",
                           "nanMiB", "0x10MiB", "6GiBx"}) {
    EXPECT_FALSE(parse_size(text).ok()) << text;
  }
}

TEST(Quantities, ReadsScales) {
  EXPECT_EQ(parse_scale("1/16").value(), 1.0 / 16);
  EXPECT_EQ(parse_scale("0.25").value(), 0.25);
  EXPECT_EQ(parse_scale("1").value(), 1.0);
  for (const char* text : {"", "0", "-1", "2", "1/0", "0/0", "1/", "/2", "a", "1/2/3", "17/16"}) {
    EXPECT_FALSE(parse_scale(text).ok()) << text;
  }
}

TEST(Quantities, WritesForPeople) {
  EXPECT_EQ(format_size(6 * kGiB), "6.00 GiB");
  EXPECT_EQ(format_size(100), "100 B");
  EXPECT_EQ(format_count(20484), "20,484");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_seconds(0.0123), "12.30 ms");
}

TEST(Bounds, AreThoseOfTheDesign) {
  BoundInputs in{.weights = 100 * kMiB,
                 .budget = 45 * kMiB,
                 .frame_bytes = 16 * kMiB,
                 .largest_streamed = 5 * kMiB,
                 .missing = 80 * kMiB,
                 .compute_seconds = 1,
                 .link_bytes_per_second = static_cast<double>(kMiB)};
  EXPECT_DOUBLE_EQ(bounds_of(in).plain, 55);
  EXPECT_DOUBLE_EQ(bounds_of(in).grain, 100 - 32 + 10);
  EXPECT_DOUBLE_EQ(bounds_of(in).cold, 80);
  in.compute_seconds = 500;
  EXPECT_DOUBLE_EQ(bounds_of(in).grain, 500);
}

TEST(Bounds, AreComputeWhereAllFits) {
  const BoundInputs in{.weights = 40 * kMiB,
                       .budget = 64 * kMiB,
                       .frame_bytes = 16 * kMiB,
                       .largest_streamed = 30 * kMiB,
                       .missing = 0,
                       .compute_seconds = 0.5,
                       .link_bytes_per_second = 1e6};
  EXPECT_DOUBLE_EQ(bounds_of(in).plain, 0.5);
  EXPECT_DOUBLE_EQ(bounds_of(in).grain, 0.5);
  EXPECT_DOUBLE_EQ(bounds_of(in).cold, 0.5);
}

TEST(Seeded, SumIsThatOfTheBytes) {
  for (const Bytes bytes : {1u, 7u, 8u, 4096u, 5003u}) {
    std::vector<unsigned char> data(bytes);
    const std::uint64_t sum = fill_and_sum(data.data(), bytes, 42);
    EXPECT_EQ(sum, base::checksum(data.data(), bytes));
  }
}

TEST(Seeded, PartsMakeTheWhole) {
  std::vector<unsigned char> whole(5003);
  std::vector<unsigned char> parts(5003);
  const std::uint64_t sum = fill_and_sum(whole.data(), 5003, 7);
  EXPECT_EQ(fill_and_sum(parts.data(), 4096, 7) + fill_and_sum(parts.data() + 4096, 907, 7, 4096), sum);
  EXPECT_EQ(parts, whole);
}

TEST(Seeded, KeysDiffer) {
  EXPECT_NE(content_key(1, "m", "a"), content_key(1, "m", "b"));
  EXPECT_NE(content_key(1, "m", "a"), content_key(2, "m", "a"));
  EXPECT_NE(content_key(1, "ma", ""), content_key(1, "m", "a"));
}

Workflow two_models(Bytes first, Bytes second) {
  Workflow workflow;
  workflow.models.resize(2);
  workflow.models[0].weights.push_back({"a", {first}, store::Dtype::kU8, first, kNotStored, 0});
  workflow.models[1].weights.push_back({"b", {second}, store::Dtype::kU8, second, kNotStored, 0});
  return workflow;
}

TEST(HostPlan, FallsBackStepByStep) {
  const Workflow workflow = two_models(8 * kGiB, 4 * kGiB);
  HostPlan plan = plan_host(workflow, 1, 12 * kGiB, 0);
  EXPECT_EQ(plan.scale, 1);
  EXPECT_FALSE(plan.one_at_a_time);
  plan = plan_host(workflow, 1, 9 * kGiB, 0);
  EXPECT_EQ(plan.scale, 1);
  EXPECT_TRUE(plan.one_at_a_time);
  plan = plan_host(workflow, 1, 3 * kGiB, 0);
  EXPECT_EQ(plan.scale, 0.25);
  EXPECT_FALSE(plan.one_at_a_time);
  plan = plan_host(workflow, 1, 13 * kGiB, 6 * kGiB);  // a simulated card keeps its bytes in host memory too
  EXPECT_EQ(plan.scale, 0.5);
}

TEST(RunArguments, AreChecked) {
  const auto fault = [](auto&& change) {
    RunArguments arguments;
    change(arguments);
    const auto parsed = parse_options(arguments);
    return parsed ? std::string("no error") : parsed.error().message;
  };
  using testing::StartsWith;
  EXPECT_EQ(fault([](RunArguments&) {}), "no error");
  EXPECT_THAT(fault([](RunArguments& a) { a.seed = "x"; }), StartsWith("--seed"));
  EXPECT_THAT(fault([](RunArguments& a) { a.seed = "-1"; }), StartsWith("--seed"));
  EXPECT_THAT(fault([](RunArguments& a) { a.mode = "fast"; }), StartsWith("--mode"));
  EXPECT_THAT(fault([](RunArguments& a) { a.policy = "none"; }), StartsWith("--policy"));
  EXPECT_THAT(fault([](RunArguments& a) { a.bytes = "some"; }), StartsWith("--bytes"));
  EXPECT_THAT(fault([](RunArguments& a) { a.scale = "3"; }), StartsWith("--scale"));
  EXPECT_THAT(fault([](RunArguments& a) { a.vram = "lots"; }), StartsWith("--vram"));
  EXPECT_THAT(fault([](RunArguments& a) { a.compute_ratio = "nan"; }), StartsWith("--compute-ratio"));
  EXPECT_THAT(fault([](RunArguments& a) { a.tflops = "0"; }), StartsWith("--tflops"));
  EXPECT_THAT(fault([](RunArguments& a) { a.passes = "0"; }), StartsWith("--passes"));
}

}  // namespace
}  // namespace tidegate::cli
