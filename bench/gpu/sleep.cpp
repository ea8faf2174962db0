// Part 5: a model's memory is given back and comes again: time until the driver shows the bytes free, rate of waking
// beside a raw copy, and a thousand small cycles that must end where they began.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/gpu/passes.h"

namespace tidegate::bench {
namespace {

constexpr Bytes kLayer = 256 * kMiB;
constexpr int kRounds = 7;

class Sleeper {
 public:
  Sleeper(Card& card, const PinnedWeights& host, std::size_t layers)
      : card_(card), stream_(card), full_(layers * kLayer + kLayer) {
    pager_ = must(Pager::create(card, {.budget = full_}));
    ModelSpec spec{.name = "sleeper", .weights = {}};
    for (std::size_t i = 0; i < layers; ++i) {
      spec.weights.push_back({"layer" + std::to_string(i), kLayer, host.data() + (i % 4) * kLayer});
    }
    model_ = must(pager_->add_model(std::move(spec)));
    for (std::size_t i = 0; i < layers; ++i) blocks_.push_back(pager_->place(model_, i).block);
  }

  void pass() {
    pager_->begin_pass(model_);
    for (const BlockId& block : blocks_) must(pager_->lease({&block, 1}, stream_.get())).release();
    pager_->end_step(stream_.get());
    stream_.synchronize();
  }

  std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    must(card_.driver().mem_get_info(&free, &total), "cuMemGetInfo");
    return free;
  }

  // Seconds until set_budget has returned and the driver says that nearly all is free again.
  double sleep() {
    const std::size_t before = free_bytes();
    const Bytes least = pager_->stats().floor;
    const Bytes gone = pager_->stats().held - std::min(pager_->stats().held, least);
    return seconds_of(card_, [&] {
      must(pager_->set_budget(least));
      while (free_bytes() < before + gone - std::min<Bytes>(gone, 2 * pager_->stats().frame_bytes)) {
        card_.executor().spend(100 * base::kMicrosecond);
      }
    });
  }
  double wake() {
    return seconds_of(card_, [&] {
      must(pager_->set_budget(full_));
      pass();
    });
  }
  Pager& pager() { return *pager_; }

 private:
  Card& card_;
  Stream stream_;
  Bytes full_;
  std::unique_ptr<Pager> pager_;
  ModelId model_ = 0;
  std::vector<BlockId> blocks_;
};

void run(const std::string& profile, const std::string& out, std::size_t gib, int cycles) {
  const auto card = open_measured_card(profile);
  PinnedWeights host(*card, 4 * kLayer);
  nlohmann::json result = provenance(*card, "5: sleep and wake");
  const double link = raw_link(*card, host, kLayer);
  Samples slept;
  Samples woken;
  const std::size_t layers = gib * (kGiB / kLayer);
  {
    Sleeper sleeper(*card, host, layers);
    for (int pass = 0; pass < 3; ++pass) sleeper.pass();
    for (int round = 0; round < kRounds; ++round) {
      slept.add(sleeper.sleep());
      woken.add(static_cast<double>(layers * kLayer) / sleeper.wake() / link);
    }
    must(sleeper.pager().check_invariants());
  }
  Sleeper small(*card, host, kGiB / kLayer);
  small.pass();
  (void)small.sleep();
  (void)small.wake();
  const std::size_t free_before = small.free_bytes();
  const Bytes held_before = small.pager().stats().held;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    (void)small.sleep();
    (void)small.wake();
  }
  const auto lost = static_cast<std::int64_t>(free_before) - static_cast<std::int64_t>(small.free_bytes());
  fmt::print("{}: {}; raw copy {:.2f} GB/s\n", card->name(), result["figures"].get<std::string>(), link / 1e9);
  fmt::print("  {} GiB free after    {:.1f} ms ({:.1f} ms per 40 GiB)\n", gib, slept.median() * 1e3,
             slept.median() * 1e3 * 40 / static_cast<double>(gib));
  fmt::print("  awake again at      {:.3f} of a raw copy\n", woken.median());
  fmt::print("  {} cycles of 1 GiB: {} bytes of the card missing, {} bytes held more\n", cycles, lost,
             static_cast<std::int64_t>(small.pager().stats().held) - static_cast<std::int64_t>(held_before));
  result["link_bytes_per_second"] = link;
  result["bytes"] = layers * kLayer;
  result["sleep_seconds"] = slept.json();
  result["wake_of_raw"] = woken.json();
  result["cycles"] = {{"count", cycles}, {"device_bytes_missing", lost}};
  write_result(out, result);
}

}  // namespace
}  // namespace tidegate::bench

int main(int argc, char** argv) {
  CLI::App app("Giving a model's memory back, and taking it again.");
  std::string card;
  std::string out;
  std::size_t gib = 40;
  int cycles = 1000;
  app.add_option("--card", card, "A simulated card's profile; default: the GPU");
  app.add_option("--gib", gib, "Size of the model")->check(CLI::PositiveNumber);
  app.add_option("--cycles", cycles, "Cycles of 1 GiB");
  app.add_option("--out", out, "Write JSON here");
  CLI11_PARSE(app, argc, argv);
  tidegate::bench::run(card, out, gib, cycles);
  return 0;
}
