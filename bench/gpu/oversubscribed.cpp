// Part 3: passes over a model larger than its budget, by tokens and resident share, beside the bound and beside what a
// user would pick instead. Part 9 is the same program on a simulated card, fed with the compute times recorded here.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/gpu/passes.h"

namespace tidegate::bench {
namespace {

constexpr Bytes kColumns = 18432;  // of an even layer: 302 MB, as in the reference's own measurement

struct Arguments {
  std::string card;
  std::string out;
  std::string times_from;  // a result of this program: its compute times instead of matrix products
  std::vector<Bytes> tokens{1024, 4096, 16384};
  std::vector<int> shares{50, 75, 90};
  std::vector<std::string> loads{"even"};
  std::size_t layers = 40;
  int passes = 7;
};

std::vector<std::uint32_t> all_of(std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

Load make_load(const std::string& name, std::size_t layers, const PinnedWeights* host) {
  Load load{
      .name = name, .layers = std::vector<Bytes>(layers, kColumns * kBytesPerColumn), .models = {0}, .host = host};
  load.order = [layers](std::size_t) { return all_of(layers); };
  if (name == "uneven") {  // an attention's four small ones, two large ones: the sizes of a transformer block
    constexpr Bytes kEighths[] = {2, 1, 1, 2, 8, 6};
    for (std::size_t i = 0; i < layers; ++i) load.layers[i] = kColumns * kEighths[i % 6] / 8 * kBytesPerColumn;
  } else if (name == "twice") {  // guidance: the whole model twice in a pass
    load.order = [layers](std::size_t) {
      std::vector<std::uint32_t> order = all_of(layers);
      const std::vector<std::uint32_t> again = order;
      order.insert(order.end(), again.begin(), again.end());
      return order;
    };
  } else if (name == "experts") {  // of each four layers, two, chosen anew for every pass
    load.order = [layers](std::size_t pass) {
      std::mt19937 random(static_cast<std::mt19937::result_type>(pass + 1));
      std::vector<std::uint32_t> order;
      for (std::size_t group = 0; group + 4 <= layers; group += 4) {
        const auto base = static_cast<std::uint32_t>(group);
        const std::uint32_t left_out = random() % 4;
        const std::uint32_t other = (left_out + 1 + random() % 3) % 4;
        for (std::uint32_t i = 0; i < 4; ++i) {
          if (i != left_out && i != other) order.push_back(base + i);
        }
      }
      return order;
    };
  } else if (name == "two-models") {
    load.models = {0, layers / 2};
  } else if (name != "even") {
    stop("--load: even, uneven, twice, experts or two-models");
  }
  return load;
}

struct Bound {
  double plain = 0;
  double grain = 0;
};

// Of one pass, which reads `read` bytes; DESIGN.md. For experts the best that is possible is not known beforehand.
Bound bound_of(double compute, double link, Bytes read, Bytes budget, Bytes grain) {
  const auto seconds = [&](Bytes extra) {
    const Bytes needed = read + extra;
    return std::max(compute, needed > budget ? static_cast<double>(needed - budget) / link : 0.0);
  };
  return {seconds(0), seconds(grain)};
}

class Measurement {
 public:
  explicit Measurement(const Arguments& arguments)
      : arguments_(arguments),
        card_(open_measured_card(arguments.card)),
        host_(*card_, 4 * kColumns * kBytesPerColumn),
        result_(provenance(*card_, arguments.times_from.empty() ? "3: oversubscribed pass" : "9: simulated pass")) {
    link_ = raw_link(*card_, host_, kColumns * kBytesPerColumn);
    result_["link_bytes_per_second"] = link_;
    result_["layers"] = arguments.layers;
    result_["layer_bytes"] = kColumns * kBytesPerColumn;
    if (!arguments.times_from.empty()) {
      std::ifstream file(arguments.times_from);
      recorded_ = nlohmann::json::parse(file, nullptr, false);
      if (recorded_.is_discarded() || !recorded_.contains("compute_ns")) {
        stop(arguments.times_from + ": holds no compute_ns of this program");
      }
    }
  }

  void run() {
    fmt::print("{}: {}; link {:.2f} GB/s\n", card_->name(), result_["figures"].get<std::string>(), link_ / 1e9);
    fmt::print("{:<10} {:>6} {:>5} {:<8} {:>10} {:>10} {:>10} {:>8} {:>8} {:>9}\n", "load", "tokens", "share", "by",
               "ms a pass", "compute", "bound", "x bound", "x plain", "GB a pass");
    for (Bytes tokens : arguments_.tokens) {
      for (const std::string& name : arguments_.loads) one_load(name, tokens);
    }
    write_result(arguments_.out, result_);
  }

 private:
  void one_load(const std::string& name, Bytes tokens) {
    const Load load = make_load(name, arguments_.layers, &host_);
    const std::string key = fmt::format("{}/{}", name, tokens);
    std::vector<double> times;
    if (recorded_.is_null()) {
      work_ = matrix_work(*card_, tokens, load.largest());
      times = compute_times(*card_, load, *work_);
      result_["compute_ns"][key] = times;
    } else {
      if (!recorded_["compute_ns"].contains(key)) stop(arguments_.times_from + ": no compute times of " + key);
      times = recorded_["compute_ns"][key].get<std::vector<double>>();
      work_ = timed_work(*card_, times);
    }
    double compute = 0;
    Bytes read = 0;
    for (std::uint32_t layer : load.order(0)) {
      compute += times[layer] / 1e9;
      read += load.layers[layer];
    }
    for (int share : arguments_.shares) {
      PassOptions options{.budget = load.bytes() * static_cast<Bytes>(share) / 100, .passes = arguments_.passes};
      for (Policy policy : {Policy::kScatter, Policy::kTail, Policy::kLru}) {
        options.policy = policy;
        const char* by = policy == Policy::kScatter ? "tidegate" : policy == Policy::kTail ? "tail" : "lru";
        const PassTimes times_of = passes_through_pager(*card_, load, *work_, options);
        report(load, tokens, share, by, options, times_of, compute, read);
      }
      if (name == "even") {
        report(load, tokens, share, "by hand", options, passes_by_hand(*card_, load, *work_, options), compute, read);
      }
    }
  }

  void report(const Load& load, Bytes tokens, int share, const char* by, const PassOptions& options,
              const PassTimes& times, double compute, Bytes read) {
    const Bytes whole = round_down(options.budget, times.frame_bytes);
    const Bytes grain = 2 * (times.plan.largest_streamed > 0 ? times.plan.largest_streamed : load.largest());
    // What is read twice in a pass may be missing twice.
    const Bytes budget = read > load.bytes() ? whole * (read / load.bytes()) : whole;
    const Bound bound = bound_of(compute, link_, read, budget, grain * (read > load.bytes() ? 2 : 1));
    const bool bounded = load.name != "experts";
    nlohmann::json row{{"load", load.name},
                       {"tokens", tokens},
                       {"share_percent", share},
                       {"by", by},
                       {"budget_bytes", options.budget},
                       {"weights_bytes", load.bytes()},
                       {"pass_seconds", times.seconds.json()},
                       {"first_pass_seconds", times.cold_seconds.front()},
                       {"compute_seconds", compute},
                       {"copied_bytes_a_pass", times.copied},
                       {"peak_held_bytes", times.peak_held},
                       {"mapping_calls", times.mapping_calls},
                       {"waits", times.waits}};
    const double median = times.seconds.median();
    if (bounded) {
      row["bound_seconds"] = bound.grain;
      row["bound_plain_seconds"] = bound.plain;
      row["over_bound"] = median / bound.grain;
      row["over_plain_bound"] = median / bound.plain;
    }
    if (times.plan.bytes > 0) {
      row["plan"] = {{"needed_bytes", times.plan.needed},
                     {"ring_bytes", times.plan.ring},
                     {"largest_streamed_bytes", times.plan.largest_streamed},
                     {"predicted_seconds", times.plan.predicted_pass_seconds}};
    }
    fmt::print("{:<10} {:>6} {:>4}% {:<8} {:>10.2f} {:>10.2f} {:>10.2f} {:>8.3f} {:>8.3f} {:>9.2f}\n", load.name,
               tokens, share, by, median * 1e3, compute * 1e3, bounded ? bound.grain * 1e3 : 0.0,
               bounded ? median / bound.grain : 0.0, bounded ? median / bound.plain : 0.0,
               static_cast<double>(times.copied) / 1e9);
    std::fflush(stdout);
    result_["rows"].push_back(std::move(row));
  }

  const Arguments& arguments_;
  std::unique_ptr<Card> card_;
  PinnedWeights host_;
  nlohmann::json result_;
  nlohmann::json recorded_;
  std::unique_ptr<LayerWork> work_;
  double link_ = 0;
};

}  // namespace
}  // namespace tidegate::bench

int main(int argc, char** argv) {
  tidegate::bench::Arguments arguments;
  CLI::App app(
      "Passes over a model larger than its budget: Tidegate, its tail and LRU policies, a prefetcher by hand.");
  app.add_option("--card", arguments.card, "A simulated card's profile (needs --times-from); default: the GPU");
  app.add_option("--times-from", arguments.times_from, "Take compute times from this result instead of computing");
  app.add_option("--tokens", arguments.tokens, "Rows of the matrix products")->delimiter(',');
  app.add_option("--share", arguments.shares, "The budget, percent of the weights")->delimiter(',');
  app.add_option("--load", arguments.loads, "even, uneven, twice, experts, two-models")->delimiter(',');
  app.add_option("--layers", arguments.layers, "Layers of the model");
  app.add_option("--passes", arguments.passes, "Measured passes")->check(CLI::PositiveNumber);
  app.add_option("--out", arguments.out, "Write JSON here");
  CLI11_PARSE(app, argc, argv);
  tidegate::bench::Measurement(arguments).run();
  return 0;
}
