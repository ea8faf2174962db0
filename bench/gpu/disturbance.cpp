// Part 4: another stream's kernels of one millisecond, start to start, while 8 GiB leave the card and come again.
#include <algorithm>
#include <atomic>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/gpu/passes.h"
#include "src/driver/kernels.h"

namespace tidegate::bench {
namespace {

constexpr Bytes kLayer = 256 * kMiB;
constexpr Bytes kMoved = 8 * kGiB;
constexpr std::size_t kKernels = 400;  // of a round
constexpr std::uint64_t kKernelNs = 1'000'000;

// Starts of neighbouring kernels on a stream of their own, milliseconds, sorted.
std::vector<double> intervals(Card& card, const driver::CheckKernels& kernels, Marks& marks, cu::Stream stream) {
  marks.clear();
  for (std::size_t i = 0; i < kKernels; ++i) {
    marks.mark(stream);
    must(kernels.launch_work(card.driver(), 0, 0, kKernelNs, stream), "cuLaunchKernel");
  }
  must(card.driver().stream_synchronize(stream), "cuStreamSynchronize");
  std::vector<double> out;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) out.push_back(marks.seconds(i, i + 1) * 1e3);
  std::sort(out.begin(), out.end());
  return out;
}

double p99(const std::vector<double>& sorted) { return sorted[sorted.size() * 99 / 100]; }

void run(const std::string& out, int rounds) {
  const auto card = open_measured_card("");
  PinnedWeights host(*card, 4 * kLayer);
  nlohmann::json result = provenance(*card, "4: disturbance");
  const auto kernels = must(driver::CheckKernels::load(card->driver()));
  Stream bystander(*card);
  Stream paging(*card);
  Marks marks(*card);
  const auto pager = must(Pager::create(*card, {.budget = kMoved + kLayer}));
  ModelSpec spec{.name = "moved", .weights = {}};
  for (Bytes at = 0; at < kMoved; at += kLayer) {
    spec.weights.push_back({"layer" + std::to_string(at / kLayer), kLayer, host.data() + at / kLayer % 4 * kLayer});
  }
  const std::size_t layers = spec.weights.size();
  const ModelId model = must(pager->add_model(std::move(spec)));
  const auto page_in = [&] {
    pager->begin_pass(model);
    for (std::size_t i = 0; i < layers; ++i) {
      const BlockId block = pager->place(model, i).block;
      must(pager->lease({&block, 1}, paging.get())).release();
    }
    pager->end_step(paging.get());
    paging.synchronize();
  };
  page_in();
  (void)intervals(*card, kernels, marks, bystander.get());
  Samples quiet;
  Samples disturbed;
  Samples moved_gib;
  double longest = 0;
  for (int round = 0; round < rounds; ++round) {
    quiet.add(p99(intervals(*card, kernels, marks, bystander.get())));
    std::atomic<bool> over = false;
    int moves = 0;
    std::thread mover([&] {
      must(card->make_current());
      while (!over) {
        must(pager->set_budget(pager->stats().floor));
        must(pager->set_budget(kMoved + kLayer));
        page_in();
        ++moves;
      }
    });
    const std::vector<double> sorted = intervals(*card, kernels, marks, bystander.get());
    over = true;
    mover.join();
    disturbed.add(p99(sorted));
    longest = std::max(longest, sorted.back());
    moved_gib.add(static_cast<double>(moves) * static_cast<double>(kMoved) / static_cast<double>(kGiB));
  }
  const double ratio = disturbed.median() / quiet.median();
  fmt::print("{}: measured on the device; kernels of 1 ms, start to start, {} rounds of {}\n", card->name(), rounds,
             kKernels);
  fmt::print("  alone                        p99 {:.3f} ms\n", quiet.median());
  fmt::print("  while 8 GiB go and come      p99 {:.3f} ms: {:.3f} x; the longest {:.3f} ms; {:.0f} GiB a round\n",
             disturbed.median(), ratio, longest, moved_gib.median());
  result["alone_p99_ms"] = quiet.json();
  result["disturbed_p99_ms"] = disturbed.json();
  result["disturbed_over_alone"] = ratio;
  result["longest_ms"] = longest;
  result["moved_gib_a_round"] = moved_gib.json();
  write_result(out, result);
}

}  // namespace
}  // namespace tidegate::bench

int main(int argc, char** argv) {
  CLI::App app("What a neighbour on the same card feels while a model leaves and comes again. Needs a GPU.");
  std::string out;
  int rounds = 7;
  app.add_option("--rounds", rounds, "Rounds of 400 kernels")->check(CLI::PositiveNumber);
  app.add_option("--out", out, "Write JSON here");
  CLI11_PARSE(app, argc, argv);
  tidegate::bench::run(out, rounds);
  return 0;
}
