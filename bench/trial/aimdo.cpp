// comfy-aimdo, called as ComfyUI calls it (the order is public: its documentation and the names in its Python side).
#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "bench/trial/card_clock.h"
#include "bench/trial/contestant.h"
#include "bench/trial/peer_library.h"

namespace tidegate::trial {
namespace {

constexpr std::uint64_t kBarFactor = 10;  // a model's range of addresses over its bytes
constexpr Bytes kCastBuffer = 16 * kGiB;  // the range reserved for one
constexpr Bytes kPage = 32 * kMiB;        // a signature has a word for each, and two more
constexpr Bytes kSlot = 512;
constexpr Bytes kSmall = 64 * kKiB;  // modules below come first in the range, then by size
constexpr int kFaultDone = 0;
constexpr int kFaultNoRoom = 1;

// The library's callback has no user data.
Tally* log_tally = nullptr;
bool log_aloud = false;

void log_line(int level, const char* line) {
  if (log_aloud) std::fputs(line, stderr);
  static constexpr std::array<const char*, 8> kNames{"all",  "critical", "error",   "warning",
                                                     "info", "debug",    "verbose", "vverbose"};
  // What decided a look at the card's memory, in the library's own words.
  static constexpr std::string_view kDecided = "prevailing method ";
  const std::string_view text = line;
  if (const std::size_t at = text.find(kDecided); at != std::string_view::npos) {
    const std::string_view method = text.substr(at + kDecided.size());
    ++log_tally->said["decided by " + std::string(method.substr(0, method.find_first_of("\r\n")))];
  }
  const auto index = static_cast<std::size_t>(std::clamp(level, 0, static_cast<int>(kNames.size()) - 1));
  ++log_tally->said[kNames[index]];
}

class Aimdo final : public Contestant {
 public:
  Aimdo(const Setting& setting, const PeerLibrary& library, bool graph)
      : needs_(setting.needs),
        gpu_(setting.gpu),
        pins_(setting.pins),
        lib_(library),
        models_(needs_.models.size()),
        graph_wanted_(graph && library.has_graphs()) {
    const std::array<int, 1> ordinals{gpu_.card().device()};
    const std::array<std::uint64_t, 1> headrooms{0};
    log_tally = &tally_;
    lib_.set_log_callback(log_line);
    lib_.set_nvml_pressure(true);
    if (!lib_.plat_init()) fail("plat_init", "refused");
    if (!lib_.init(ordinals.data(), headrooms.data(), 1)) fail("init", "refused");
    lib_.set_log_level_debug();
    device_ = lib_.get_devctx(ordinals[0]);
    if (device_ == nullptr) fail("get_devctx", "no device");
  }
  Aimdo(const Aimdo&) = delete;
  Aimdo& operator=(const Aimdo&) = delete;
  ~Aimdo() override {
    for (Loaded& model : models_) {
      for (const driver::DevicePtr at : model.kept) gpu_.free(at, gpu_.compute());
      if (model.bar != nullptr) lib_.vbar_free(device_, model.bar);
    }
    lib_.cleanup();
    lib_.plat_cleanup();
    lib_.set_log_callback(nullptr);
  }

  void load(const Node& node) override {
    pins_.begin(node.model);
    Loaded& model = models_[node.model];
    const bool first = model.bar == nullptr;
    if (first) stage(node.model);
    lib_.vbar_prioritize(device_, model.bar, ~std::uint64_t{0});
    if (first) load_small(node.model);
  }

  void begin_pass(const Node& node) override {
    if (!graph_wanted_ || !node.samples) return;
    if (graph_ == nullptr) {
      graph_ = lib_.malloc_graph_create(device_, gpu_.compute(), false);
    } else if (!lib_.malloc_graph_push(graph_, nullptr)) {
      ++tally_.failures;
    }
    graph_active_ = graph_ != nullptr;
  }

  bool begin_group(const Node& node, const Group& group) override {
    set_card_clock();
    open_scope(group.scope);
    Loaded& model = models_[node.model];
    offload_ = nullptr;
    Bytes buffered = 0;
    for (std::size_t i = group.first; i < group.first + group.count; ++i) {
      if (!bring(node.model, model, node.uses[i].module, buffered)) {
        drop(model, node, group, i);
        return false;
      }
    }
    if (offload_ != nullptr) gpu_.wait_stream(gpu_.compute(), offload_);
    return true;
  }

  driver::DevicePtr begin_use(const Node& node, const Use& use) override {
    return models_[node.model].places[use.module].now;
  }

  void end_group(const Node& node, const Group& group) override {
    if (offload_ != nullptr) gpu_.wait_stream(offload_, gpu_.compute());
    drop(models_[node.model], node, group, group.first + group.count);
  }

  void end_pass(const Node&) override {
    if (!graph_active_) return;
    open_scope("");
    if (lib_.malloc_graph_pop(graph_) == 0) {
      ++tally_.failures;
      graph_ = nullptr;  // its state is gone
    }
    graph_active_ = false;
  }

  void end_node(const Node&) override {
    if (graph_ != nullptr) {
      if (graph_active_) (void)lib_.malloc_graph_abort(graph_);
      lib_.malloc_graph_destroy(graph_);
    }
    graph_ = nullptr;
    graph_active_ = false;
    scope_.clear();
    // The cast buffers go once what reads them has passed.
    gpu_.synchronize_offload();
    gpu_.synchronize_compute();
    for (CastBuffer& buffer : cast_) {
      if (!lib_.vrambuf_destroy(buffer.handle)) ++tally_.failures;
    }
    cast_.clear();
    lib_.vbars_reset_watermark_limits(device_);
  }

 private:
  struct Place {
    std::uint64_t offset = 0;              // in the bar
    driver::DevicePtr kept = 0;            // of a module loaded at once
    driver::DevicePtr now = 0;             // where it is in this group
    bool pinned = false;                   // the peer holds its pages
    std::vector<std::uint32_t> signature;  // of when it was last copied in
  };
  struct Loaded {
    void* bar = nullptr;
    driver::DevicePtr base = 0;
    std::vector<Place> places;  // by module
    std::vector<driver::DevicePtr> kept;
  };
  struct CastBuffer {
    driver::Stream stream;
    void* handle;
    Bytes size = 0;
  };

  // Addresses for its modules, in the order of their importance; nothing is brought in.
  void stage(std::size_t index) {
    const Model& source = needs_.models[index];
    Loaded& model = models_[index];
    model.bar = lib_.vbar_allocate(device_, source.bytes * kBarFactor, gpu_.card().device(), nullptr);
    if (model.bar == nullptr) fail("vbar_allocate", "refused");
    model.base = lib_.vbar_get(device_, model.bar);
    model.places.resize(source.modules.size());
    std::vector<std::size_t> order(source.modules.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Bytes x = source.modules[a].order;
      const Bytes y = source.modules[b].order;
      return (x >= kSmall) != (y >= kSmall) ? x < kSmall : x > y;
    });
    std::uint64_t offset = 0;
    for (const std::size_t module : order) {
      if (source.modules[module].loaded_at_once) continue;
      model.places[module].offset = offset;
      offset = round_up(offset + source.modules[module].bytes, kSlot);
    }
  }

  void load_small(std::size_t index) {
    const Model& source = needs_.models[index];
    Loaded& model = models_[index];
    for (std::size_t module = 0; module < source.modules.size(); ++module) {
      if (!source.modules[module].loaded_at_once) continue;
      const Bytes bytes = source.modules[module].bytes;
      const driver::DevicePtr at = gpu_.allocate(bytes, gpu_.compute());
      if (at == 0) fail("a small weight", "out of memory");
      model.kept.push_back(at);
      model.places[module].kept = at;
      gpu_.copy(at, pins_.pinned(index, module), bytes, gpu_.compute());
    }
  }

  // False: the peer answers an error.
  bool bring(std::size_t index, Loaded& model, std::size_t module, Bytes& buffered) {
    Place& place = model.places[module];
    if (place.kept != 0) {
      place.now = place.kept;
      return true;
    }
    const Bytes bytes = needs_.models[index].modules[module].bytes;
    std::vector<std::uint32_t> signature(bytes / kPage + 2);
    ++tally_.asked;
    const int answer = lib_.vbar_fault(device_, model.bar, place.offset, bytes, signature.data());
    if (answer != kFaultDone && answer != kFaultNoRoom) {
      ++tally_.failures;
      return false;
    }
    place.pinned = answer == kFaultDone;
    if (place.pinned) {
      place.now = model.base + place.offset;
      if (signature == place.signature) {
        ++tally_.present;
        return true;
      }
      place.signature = signature;
    }
    if (offload_ == nullptr) offload_ = gpu_.next_offload_stream();
    if (!place.pinned) {
      place.now = cast_buffer(bytes, buffered);
      if (place.now == 0) return false;
      buffered += bytes;
      ++tally_.streamed;
    }
    gpu_.copy(place.now, pins_.pinned(index, module), bytes, offload_);
    return true;
  }

  // `bytes` at `offset` of the offload stream's buffer; 0: it cannot grow.
  driver::DevicePtr cast_buffer(Bytes bytes, Bytes offset) {
    auto found = std::find_if(cast_.begin(), cast_.end(), [&](const CastBuffer& b) { return b.stream == offload_; });
    if (found == cast_.end()) {
      void* handle = lib_.vrambuf_create(gpu_.card().device(), kCastBuffer);
      if (handle == nullptr) fail("vrambuf_create", "refused");
      found = cast_.insert(cast_.end(), {offload_, handle, 0});
    }
    if (offset + bytes > found->size) {
      if (!lib_.vrambuf_grow(found->handle, offset + bytes)) {
        ++tally_.failures;
        return 0;
      }
      found->size = offset + bytes;
    }
    return lib_.vrambuf_get(found->handle) + offset;
  }

  // Lets go of the uses before `end`.
  void drop(Loaded& model, const Node& node, const Group& group, std::size_t end) {
    for (std::size_t i = group.first; i < end; ++i) {
      const std::size_t module = node.uses[i].module;
      Place& place = model.places[module];
      if (place.pinned)
        lib_.vbar_unpin(device_, model.bar, place.offset, needs_.models[node.model].modules[module].bytes);
      place.pinned = false;
    }
  }

  // An iteration of the recorded loop over blocks begins; empty: the loop is over.
  void open_scope(const std::string& scope) {
    if (!graph_active_ || (scope.empty() && scope_.empty())) return;
    if (!scope_.empty() && lib_.malloc_graph_pop(graph_) == 0) ++tally_.failures;
    scope_ = scope;
    if (!scope_.empty() && !lib_.malloc_graph_push(graph_, scope_.c_str())) ++tally_.failures;
  }

  const Needs& needs_;
  Gpu& gpu_;
  Pins& pins_;
  const PeerLibrary lib_;
  std::vector<Loaded> models_;
  std::vector<CastBuffer> cast_;
  void* device_ = nullptr;
  driver::Stream offload_ = nullptr;  // of the group that is open; null: it copied nothing
  const bool graph_wanted_;
  void* graph_ = nullptr;
  bool graph_active_ = false;
  std::string scope_;
};

}  // namespace

std::unique_ptr<Contestant> make_aimdo(const Setting& setting, const std::string& library, bool graph, bool aloud) {
  log_aloud = aloud;
  auto opened = PeerLibrary::open(library);
  if (!opened) fail("the peer's library", opened.error().message.c_str());
  give_card_clock(library);
  return std::make_unique<Aimdo>(setting, opened.value(), graph);
}

}  // namespace tidegate::trial
