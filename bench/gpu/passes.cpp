#include "bench/gpu/passes.h"

#include <algorithm>
#include <numeric>

namespace tidegate::bench {
namespace {

// Runs warm-up and measured passes; `use(layer)` queues one layer, `between()` follows each pass.
template <typename Use, typename Between>
void run_passes(Card& card, const Load& load, const PassOptions& options, cu::Stream stream, PassTimes& out, Use&& use,
                Between&& between) {
  Marks marks(card);
  marks.mark(stream);
  for (int pass = 0; pass < options.warm_up + options.passes; ++pass) {
    for (std::uint32_t layer : load.order(static_cast<std::size_t>(pass))) use(layer);
    marks.mark(stream);
    between(pass + 1 == options.warm_up);
    // The plan task needs the processor, and a user's sampler looks at its result between passes.
    if (pass < options.warm_up) must(card.driver().stream_synchronize(stream), "cuStreamSynchronize");
    if (pass + 1 == options.warm_up) {
      out.cold_seconds.push_back(marks.seconds(0, 1));
      marks.clear();
      marks.mark(stream);
    }
  }
  must(card.driver().stream_synchronize(stream), "cuStreamSynchronize");
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) out.seconds.add(marks.seconds(i, i + 1));
}

}  // namespace

Bytes Load::bytes() const { return std::accumulate(layers.begin(), layers.end(), Bytes{0}); }
Bytes Load::largest() const { return *std::max_element(layers.begin(), layers.end()); }

PassTimes passes_through_pager(Card& card, const Load& load, LayerWork& work, const PassOptions& options) {
  PassTimes out;
  Stream stream(card);
  const auto pager = must(Pager::create(card, {.budget = options.budget, .policy = options.policy}));
  std::vector<ModelId> ids;
  std::vector<BlockId> blocks;
  for (std::size_t model = 0; model < load.models.size(); ++model) {
    const std::size_t end = model + 1 < load.models.size() ? load.models[model + 1] : load.layers.size();
    ModelSpec spec{.name = load.name + std::to_string(model), .weights = {}};
    for (std::size_t layer = load.models[model]; layer < end; ++layer) {
      const Bytes slack = load.host->bytes() - load.layers[layer];
      const Bytes from = slack == 0 ? 0 : round_down(slack / 3 * (layer % 4), 4 * kKiB);
      spec.weights.push_back({"layer" + std::to_string(layer), load.layers[layer], load.host->data() + from});
    }
    ids.push_back(must(pager->add_model(std::move(spec))));
    for (std::size_t weight = 0; weight < end - load.models[model]; ++weight) {
      blocks.push_back(pager->place(ids.back(), weight).block);
    }
  }
  const auto copied = [&] {
    Bytes sum = 0;
    for (ModelId id : ids) sum += pager->model_stats(id).copied;
    return sum;
  };
  Bytes copied_before = 0;
  PagerStats before;
  run_passes(
      card, load, options, stream.get(), out,
      [&](std::uint32_t layer) {
        if (const auto first = std::find(load.models.begin(), load.models.end(), layer); first != load.models.end()) {
          pager->begin_pass(ids[static_cast<std::size_t>(first - load.models.begin())]);
        }
        auto lease = must(pager->lease({&blocks[layer], 1}, stream.get()));
        work.launch(layer, lease.address(0), load.layers[layer], stream.get());
        lease.release();
      },
      [&](bool warm) {
        pager->end_step(stream.get());
        if (!warm) return;
        copied_before = copied();
        before = pager->stats();
      });
  const PagerStats after = pager->stats();
  out.copied = (copied() - copied_before) / static_cast<Bytes>(options.passes);
  out.peak_held = after.peak_held;
  out.frame_bytes = after.frame_bytes;
  out.mapping_calls = after.mapping_calls - before.mapping_calls;
  out.waits = after.waits - before.waits;
  out.plan = pager->model_stats(ids.front());
  must(pager->check_invariants());
  return out;
}

PassTimes passes_by_hand(Card& card, const Load& load, LayerWork& work, const PassOptions& options) {
  constexpr std::size_t kRing = 2;
  PassTimes out;
  const Bytes layer_bytes = load.largest();
  const std::size_t fits = options.budget / layer_bytes;
  if (fits < kRing) stop("the budget has no room for two layers");
  const std::size_t resident = std::min(fits - kRing, load.layers.size());
  DeviceMemory memory(card, fits * layer_bytes);
  out.peak_held = fits * layer_bytes;
  Stream stream(card);
  Stream copies(card);
  std::vector<cu::Event> full(kRing);
  std::vector<cu::Event> free(kRing);
  for (std::size_t slot = 0; slot < kRing; ++slot) {
    must(card.driver().event_create(&full[slot], cu::kEventDisableTiming), "cuEventCreate");
    must(card.driver().event_create(&free[slot], cu::kEventDisableTiming), "cuEventCreate");
  }
  const auto at = [&](std::size_t slot) { return memory.address() + slot * layer_bytes; };
  const auto copy = [&](std::size_t slot) {
    must(card.driver().memcpy_htod_async(at(slot), load.host->data(), layer_bytes, copies.get()), "cuMemcpyHtoDAsync");
    out.copied += layer_bytes;
  };
  for (std::size_t layer = 0; layer < resident; ++layer) copy(kRing + layer);
  // Layers are copied in the order in which they stream, at most kRing ahead of their use, across passes.
  const std::size_t streams = load.layers.size() - resident;
  const std::size_t all = streams * static_cast<std::size_t>(options.warm_up + options.passes);
  std::size_t issued = 0;
  std::size_t used = 0;
  const auto issue = [&] {
    for (; issued < all && issued < used + kRing; ++issued) {
      const std::size_t slot = issued % kRing;
      if (issued >= kRing) must(card.driver().stream_wait_event(copies.get(), free[slot], 0), "cuStreamWaitEvent");
      copy(slot);
      must(card.driver().event_record(full[slot], copies.get()), "cuEventRecord");
    }
  };
  copies.synchronize();
  Bytes before = 0;
  run_passes(
      card, load, options, stream.get(), out,
      [&](std::uint32_t layer) {
        issue();
        if (layer < resident) {
          work.launch(layer, at(kRing + layer), layer_bytes, stream.get());
          return;
        }
        const std::size_t slot = used % kRing;
        must(card.driver().stream_wait_event(stream.get(), full[slot], 0), "cuStreamWaitEvent");
        work.launch(layer, at(slot), layer_bytes, stream.get());
        must(card.driver().event_record(free[slot], stream.get()), "cuEventRecord");
        ++used;
      },
      [&](bool warm) {
        if (warm) before = out.copied;
      });
  copies.synchronize();
  out.copied = (out.copied - before) / static_cast<Bytes>(options.passes);
  for (std::size_t slot = 0; slot < kRing; ++slot) {
    must(card.driver().event_destroy(full[slot]), "cuEventDestroy");
    must(card.driver().event_destroy(free[slot]), "cuEventDestroy");
  }
  return out;
}

std::vector<double> compute_times(Card& card, const Load& load, LayerWork& work, int rounds) {
  DeviceMemory memory(card, load.largest());
  Stream stream(card);
  Marks marks(card);
  must(card.driver().memcpy_htod_async(memory.address(), load.host->data(), load.largest(), stream.get()),
       "cuMemcpyHtoDAsync");
  std::vector<Samples> samples(load.layers.size());
  for (int round = -1; round < rounds; ++round) {  // the first one loads cuBLAS's kernels
    marks.clear();
    marks.mark(stream.get());
    for (std::size_t layer = 0; layer < load.layers.size(); ++layer) {
      work.launch(layer, memory.address(), load.layers[layer], stream.get());
      marks.mark(stream.get());
    }
    stream.synchronize();
    if (round < 0) continue;
    for (std::size_t layer = 0; layer < samples.size(); ++layer)
      samples[layer].add(marks.seconds(layer, layer + 1) * 1e9);
  }
  std::vector<double> out;
  for (const Samples& of_layer : samples) out.push_back(of_layer.median());
  return out;
}

}  // namespace tidegate::bench
