// How long a plan takes to make, by the number of blocks. The models are those of tests/plan.
#include <benchmark/benchmark.h>

#include "src/pager/plan.h"
#include "tests/support/random_model.h"

namespace tidegate::pager {
namespace {

void report(benchmark::State& state, const Plan& plan, const testkit::RandomModel& model) {
  state.counters["ratio"] = static_cast<double>(plan.predicted) / static_cast<double>(pass_bound(model.input(), 0));
}

void BM_FirstPlan(benchmark::State& state) {
  const testkit::RandomModel model = testkit::random_model(1, static_cast<std::size_t>(state.range(0)));
  Plan plan;
  for (auto unused : state) {
    (void)unused;
    plan = make_plan(model.input());
    benchmark::DoNotOptimize(plan);
  }
  report(state, plan, model);
}

// A quarter of the budget is gone, and a plan for all of it is in force.
void BM_Replan(benchmark::State& state) {
  const testkit::RandomModel model = testkit::random_model(1, static_cast<std::size_t>(state.range(0)));
  const Plan before = make_plan(model.input());
  PlanInput input = model.input();
  input.budget = input.budget / 4 * 3;
  input.current = &before;
  for (auto unused : state) {
    (void)unused;
    benchmark::DoNotOptimize(make_plan(input));
  }
}

BENCHMARK(BM_FirstPlan)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Replan)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tidegate::pager
