// Part 2: page-in from page-locked memory in a known order, beside a raw copy of the same pieces: a first pass over a
// model that fits, into frames taken just then and into frames that were there, and warm passes that stream half of it.
// Nothing is computed.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/gpu/passes.h"

namespace tidegate::bench {
namespace {

constexpr Bytes kLayer = 256 * kMiB;
constexpr int kRounds = 7;

class Nothing final : public LayerWork {
  void launch(std::size_t, cu::DevicePtr, Bytes, cu::Stream) override {}
};

// A pass in which every block is new, with the model added just before. Seconds by events on the stream.
double first_pass(Card& card, Pager& pager, const Load& load, cu::Stream stream) {
  ModelSpec spec{.name = "known order", .weights = {}};
  for (std::size_t i = 0; i < load.layers.size(); ++i) {
    spec.weights.push_back({"layer" + std::to_string(i), load.layers[i], load.host->data() + (i % 4) * kLayer});
  }
  const ModelId model = must(pager.add_model(std::move(spec)));
  Marks marks(card);
  marks.mark(stream);
  pager.begin_pass(model);
  for (std::size_t i = 0; i < load.layers.size(); ++i) {
    const BlockId block = pager.place(model, i).block;
    must(pager.lease({&block, 1}, stream)).release();
  }
  marks.mark(stream);
  pager.end_step(stream);
  must(card.driver().stream_synchronize(stream), "cuStreamSynchronize");
  must(pager.remove_model(model));
  return marks.seconds(0, 1);
}

void run(const std::string& profile, const std::string& out, std::size_t layers) {
  const auto card = open_measured_card(profile);
  PinnedWeights host(*card, 4 * kLayer);
  nlohmann::json result = provenance(*card, "2: page-in");
  const double link = raw_link(*card, host, kLayer);
  Load load{.name = "known order", .layers = std::vector<Bytes>(layers, kLayer), .models = {0}, .host = &host};
  load.order = [layers](std::size_t) {
    std::vector<std::uint32_t> order(layers);
    for (std::size_t i = 0; i < layers; ++i) order[i] = static_cast<std::uint32_t>(i);
    return order;
  };
  const double least = static_cast<double>(load.bytes()) / link;
  Samples fresh;
  Samples recycled;
  Stream stream(*card);
  for (int round = 0; round < kRounds; ++round) {
    const auto pager = must(Pager::create(*card, {.budget = load.bytes() + kLayer}));
    fresh.add(least / first_pass(*card, *pager, load, stream.get()));
    recycled.add(least / first_pass(*card, *pager, load, stream.get()));
  }
  Nothing nothing;
  const PassTimes half = passes_through_pager(*card, load, nothing, {.budget = load.bytes() / 2, .passes = kRounds});
  const double streamed = static_cast<double>(half.copied) / half.seconds.median() / link;
  fmt::print("{}: {}; raw copy {:.2f} GB/s; of it:\n", card->name(), result["figures"].get<std::string>(), link / 1e9);
  fmt::print("  first pass, {} layers of {} MiB, fresh frames     {:.3f}\n", layers, kLayer / kMiB, fresh.median());
  fmt::print("  the same into frames that were there               {:.3f}\n", recycled.median());
  fmt::print("  warm pass that streams {:.2f} of {:.2f} GB           {:.3f}\n", static_cast<double>(half.copied) / 1e9,
             static_cast<double>(load.bytes()) / 1e9, streamed);
  result["link_bytes_per_second"] = link;
  result["first_pass_fresh_of_raw"] = fresh.json();
  result["first_pass_recycled_of_raw"] = recycled.json();
  result["warm_stream_of_raw"] = streamed;
  result["warm_pass_seconds"] = half.seconds.json();
  result["warm_copied_bytes"] = half.copied;
  write_result(out, result);
}

}  // namespace
}  // namespace tidegate::bench

int main(int argc, char** argv) {
  CLI::App app("Page-in in a known order beside a raw copy.");
  std::string card;
  std::string out;
  std::size_t layers = 32;
  app.add_option("--card", card, "A simulated card's profile; default: the GPU");
  app.add_option("--layers", layers, "Layers of 256 MiB");
  app.add_option("--out", out, "Write JSON here");
  CLI11_PARSE(app, argc, argv);
  tidegate::bench::run(card, out, layers);
  return 0;
}
