// A stand-in for `--disable-dynamic-vram`: when a model is asked for, the others are unloaded, what fits is loaded to
// stay, largest modules first, and the rest is copied at each use through one buffer per stream. Not ComfyUI's code:
// its order of calls, and its reserve.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <vector>

#include "bench/trial/contestant.h"

namespace tidegate::trial {
namespace {

// Kept free for activations: 0.8 GiB, and 600 MiB on Windows (wddm-model, R-9).
constexpr Bytes kReserve = Bytes{1024} * kMiB * 8 / 10 + 600 * kMiB;

class StaticLoading final : public Contestant {
 public:
  explicit StaticLoading(const Setting& setting)
      : needs_(setting.needs), gpu_(setting.gpu), pins_(setting.pins), kept_(needs_.models.size()) {
    for (std::size_t i = 0; i < needs_.models.size(); ++i) kept_[i].resize(needs_.models[i].modules.size());
  }
  StaticLoading(const StaticLoading&) = delete;
  StaticLoading& operator=(const StaticLoading&) = delete;
  ~StaticLoading() override {
    if (loaded_) unload(*loaded_);
    for (CastBuffer& buffer : cast_) gpu_.free(buffer.at, buffer.stream);
  }

  void load(const Node& node) override {
    pins_.begin(node.model);
    if (loaded_ == node.model) return;
    if (loaded_) {
      unload(*loaded_);
      gpu_.empty_cache();
    }
    loaded_ = node.model;
    const Model& model = needs_.models[node.model];
    const Bytes free = gpu_.free_bytes();
    Bytes room = free > kReserve ? free - kReserve : 0;
    Bytes largest = 0;
    for (const Module& module : model.modules) largest = std::max(largest, module.bytes);
    if (model.bytes > room) room -= std::min(room, 3 * largest);  // for what is copied at each use
    std::vector<std::size_t> order(model.modules.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return model.modules[a].order > model.modules[b].order; });
    for (const std::size_t module : order) {
      const Module& what = model.modules[module];
      if (what.bytes > room && !what.loaded_at_once) continue;
      driver::DevicePtr& kept = kept_[node.model][module];
      kept = gpu_.allocate(what.bytes, gpu_.compute());
      if (kept == 0) continue;
      room -= std::min(room, what.bytes);
      // From pageable memory, as `.to(device)` does: complete on return.
      gpu_.copy(kept, pins_.at(node.model, module), what.bytes, gpu_.compute());
    }
    gpu_.synchronize_compute();
  }

  driver::DevicePtr begin_use(const Node& node, const Use& use) override {
    ++tally_.asked;
    offload_ = nullptr;
    if (const driver::DevicePtr kept = kept_[node.model][use.module]; kept != 0) {
      ++tally_.present;
      return kept;
    }
    const Bytes bytes = needs_.models[node.model].modules[use.module].bytes;
    const void* const host = pins_.pinned(node.model, use.module);
    offload_ = gpu_.next_offload_stream();
    const driver::DevicePtr at = cast_buffer(bytes);
    if (at == 0) {
      ++tally_.failures;
      return 0;
    }
    ++tally_.streamed;
    gpu_.copy(at, host, bytes, offload_);
    gpu_.wait_stream(gpu_.compute(), offload_);
    return at;
  }

  void end_use(const Node&, const Use&) override {
    if (offload_ != nullptr) gpu_.wait_stream(offload_, gpu_.compute());
  }

  void end_node(const Node&) override {
    gpu_.synchronize_offload();
    for (CastBuffer& buffer : cast_) gpu_.free(buffer.at, buffer.stream);
    cast_.clear();
  }

 private:
  struct CastBuffer {
    driver::Stream stream;
    driver::DevicePtr at;
    Bytes size;
  };

  void unload(std::size_t model) {
    gpu_.synchronize_compute();
    for (driver::DevicePtr& kept : kept_[model]) {
      gpu_.free(kept, gpu_.compute());
      kept = 0;
    }
  }

  driver::DevicePtr cast_buffer(Bytes bytes) {
    auto found = std::find_if(cast_.begin(), cast_.end(), [&](const CastBuffer& b) { return b.stream == offload_; });
    if (found == cast_.end()) found = cast_.insert(cast_.end(), {offload_, 0, 0});
    if (found->size >= bytes) return found->at;
    gpu_.free(found->at, offload_);
    found->at = gpu_.allocate(bytes, offload_);
    found->size = found->at == 0 ? 0 : bytes;
    return found->at;
  }

  const Needs& needs_;
  Gpu& gpu_;
  Pins& pins_;
  std::vector<std::vector<driver::DevicePtr>> kept_;  // by model and module; 0: not loaded
  std::optional<std::size_t> loaded_;
  std::vector<CastBuffer> cast_;
  driver::Stream offload_ = nullptr;  // of the use that is open; null: it copied nothing
};

}  // namespace

std::unique_ptr<Contestant> make_static(const Setting& setting) { return std::make_unique<StaticLoading>(setting); }

}  // namespace tidegate::trial
