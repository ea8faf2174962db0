// What it costs to give 4 GiB back, by measure of leaving (I2), on simulated cards: modelled time, not this machine's.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "src/base/virtual_executor.h"
#include "tests/support/test_card.h"
#include "tidegate/pager.h"

namespace tidegate {
namespace {

constexpr Bytes kGiven = 4 * kGiB;
constexpr Bytes kBlock = 64 * kMiB;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "leaving_bench: %s\n", why.c_str());
  std::exit(1);
}

// Modelled seconds of one set_budget that takes 4 GiB from an idle pager.
double give_back(const char* profile, const LeavingOptions& leaving, std::uint64_t seed) {
  base::VirtualExecutor executor(seed);
  testkit::TestCard card(executor, sim::load_profile(profile).value(), seed);
  const void* weights = reinterpret_cast<const void*>(std::uintptr_t{1} << 45);  // NOLINT: tags; never touched
  if (!card.machine().declare_tagged_host(weights, kGiven + kBlock, 1)) stop("declaring the weights");
  auto pager = Pager::create(card, {.budget = kGiven + 2 * kBlock, .leaving = leaving});
  if (!pager) stop(pager.error().message);
  ModelSpec spec{.name = "model", .weights = {}};
  for (Bytes at = 0; at < kGiven + kBlock; at += kBlock) {
    spec.weights.push_back({"w" + std::to_string(at / kBlock), kBlock, static_cast<const std::byte*>(weights) + at});
  }
  const std::size_t blocks = spec.weights.size();
  auto model = (*pager)->add_model(std::move(spec));
  if (!model) stop(model.error().message);
  cu::Stream stream = nullptr;
  if (card.raw().stream_create(&stream, cu::kStreamNonBlocking) != cu::kSuccess) stop("a stream");
  for (int pass = 0; pass < 2; ++pass) {
    (*pager)->begin_pass(*model);
    for (std::size_t i = 0; i < blocks; ++i) {
      const BlockId block = (*pager)->place(*model, i).block;
      auto lease = (*pager)->lease({&block, 1}, stream);
      if (!lease) stop(lease.error().message);
    }
    (*pager)->end_step(stream);
    executor.sleep_until(executor.now() + 2 * base::kSecond);
  }
  const base::Nanos begin = executor.now();
  if (auto set = (*pager)->set_budget(2 * kBlock); !set) stop(set.error().message);
  const double seconds = static_cast<double>(executor.now() - begin) / 1e9;
  if ((*pager)->stats().held > 2 * kBlock) stop("the budget was not reached");
  (*pager)->forget_stream(stream);
  return seconds;
}

void give_back_4_gib(benchmark::State& state, const char* profile, const LeavingOptions& leaving) {
  std::uint64_t seed = 0;
  for (auto _ : state) state.SetIterationTime(give_back(profile, leaving, ++seed));
  state.SetLabel("modelled");
}

constexpr const char* kWindows = "rtx3050-6g-wddm";
BENCHMARK_CAPTURE(give_back_4_gib, linux, "rtx3050-6g-linux", {})->UseManualTime()->Iterations(7);
BENCHMARK_CAPTURE(give_back_4_gib, windows, kWindows, {})->UseManualTime()->Iterations(7);
BENCHMARK_CAPTURE(give_back_4_gib, windows_no_rate, kWindows, {.bytes_per_second = 0})->UseManualTime()->Iterations(7);
BENCHMARK_CAPTURE(give_back_4_gib, windows_no_settle, kWindows, {.settle = false})->UseManualTime()->Iterations(7);
BENCHMARK_CAPTURE(give_back_4_gib, windows_no_drain, kWindows, {.drain = false})->UseManualTime()->Iterations(7);
BENCHMARK_CAPTURE(give_back_4_gib, windows_no_gate, kWindows, {.gate = false})->UseManualTime()->Iterations(7);
BENCHMARK_CAPTURE(give_back_4_gib, windows_at_once, kWindows, {.how = LeavingOptions::How::kAtOnce})
    ->UseManualTime()
    ->Iterations(7);

}  // namespace
}  // namespace tidegate
