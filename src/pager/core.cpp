#include "src/pager/core.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "src/driver/errors.h"
#include "src/pager/insist.h"
#include "src/pager/link.h"

namespace tidegate {

using driver::driver_error;

namespace {

std::uint64_t next_identity() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

struct CachedCaller {
  std::uint64_t owner = 0;  // PagerCore::identity_, never reused
  Caller* caller = nullptr;
};
thread_local CachedCaller tls_caller;

}  // namespace

Bytes standing_allowance(Bytes card_total) { return std::max(512 * kMiB, card_total / 20); }

PagerCore::PagerCore(Card& card, PagerOptions options)
    : card_(card),
      driver_(card.driver()),
      executor_(card.executor()),
      options_(options),
      chunks_(std::make_unique<std::unique_ptr<Block[]>[]>(kMostChunks)),
      streams_(card.driver()),
      arrivals_(card.driver()),
      identity_(next_identity()),
      frames_(card.driver(), card.device(),
              options.frame_bytes != 0 ? options.frame_bytes : pager::default_frame_bytes(card.total_bytes())),
      canary_(card.driver(), card.device()) {}

Result<void> PagerCore::open() {
  std::size_t granularity = 0;
  cu::MemProp prop{};
  prop.type = cu::kAllocationPinned;
  prop.location = {cu::kLocationDevice, card_.device()};
  if (const cu::Status status = driver_.mem_get_allocation_granularity(&granularity, &prop, cu::kGranularityMinimum);
      status != cu::kSuccess) {
    return driver_error(driver_, status, "asking for the allocation granularity");
  }
  const Bytes frame = frames_.frame_bytes();
  if (frame % granularity != 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("frame size {} is not a multiple of the card's granularity {}", frame, granularity)};
  }
  if (const cu::Status status = arrivals_.open(); status != cu::kSuccess) {
    return driver_error(driver_, status, "creating the copy stream");
  }
  budget_ = options_.budget;
  if (budget_ == 0) {
    std::size_t free = 0;
    std::size_t total = 0;
    if (const cu::Status status = driver_.mem_get_info(&free, &total); status != cu::kSuccess) {
      return driver_error(driver_, status, "asking for free memory");
    }
    budget_ = free - std::min<Bytes>(free, standing_allowance(total));
  }
  ceiling_ = budget_;
  leaving_deadline_ = options_.leaving.deadline_ms * base::kMillisecond;
  if (options_.mode == Mode::kOff) return {};
  if (budget_ < frame) {
    return Error{Errc::kBelowFloor, fmt::format("the budget of {} bytes is smaller than one frame of {} bytes; free "
                                                "memory on the card or name a larger budget",
                                                budget_, frame)};
  }
  const std::size_t budget_slots = budget_ / frame;
  Result<void> backing = options_.mode == Mode::kStatic
                             ? frames_.allocate_plain(budget_slots)
                             : frames_.reserve(std::max<std::size_t>(card_.total_bytes() / frame, budget_slots));
  if (!backing) return backing.error();
  space_.emplace(frames_.slots() * frame);
  const LeavingOptions::How how = options_.leaving.how;
  proven_leaving_ =
      options_.mode == Mode::kDynamic &&
      (how == LeavingOptions::How::kProven || (how == LeavingOptions::How::kByCard && card_.paged_by_system()));
  if (options_.mode == Mode::kDynamic) {
    // One frame now: it proves that mapping works on this card and is what the link is measured into.
    cu::Status status = cu::kNotReady;
    for (int attempt = 0; attempt < 100 && status == cu::kNotReady; ++attempt) {
      status = frames_.map(0);
      if (status == cu::kNotReady) pause(base::kMillisecond);
    }
    if (status == cu::kNotReady) frames_.abandon(0);
    if (status != cu::kSuccess) {
      Error error = driver_error(driver_, status, "mapping the first frame");
      if (status == cu::kOutOfMemory) error.code = Errc::kOutOfMemory;
      return error;
    }
    frames_.set_state(0, pager::Frames::State::kMapped);
    for (int attempt = 0; proven_leaving_ && attempt < 100; ++attempt) {
      status = canary_.open(granularity);
      if (status == cu::kSuccess) break;
      if (status != cu::kNotReady) return driver_error(driver_, status, "taking the canary, one frame of its own");
      pause(base::kMillisecond);
    }
    if (status != cu::kSuccess) return driver_error(driver_, status, "mapping the canary");
  }
  const Result<pager::Link> link = pager::measure_link(driver_, arrivals_.stream(), frames_.base(), frame);
  if (!link) return link.error();
  link_bytes_per_ns_ = link->bytes_per_ns;
  copy_cost_ = link->copy_cost;
  tasks_running_ = true;
  executor_.add(copy_task_);
  executor_.add(frame_task_);
  executor_.add(plan_task_);
  return {};
}

PagerCore::~PagerCore() {
  if (tasks_running_) {
    executor_.remove(plan_task_);
    executor_.remove(copy_task_);
    executor_.remove(frame_task_);
  }
  // Nothing may touch the frames any more when they go: wait, by event, for every stream that used them.
  if (arrivals_.stream() != nullptr) pager::insist([&] { return driver_.stream_synchronize(arrivals_.stream()); });
  streams_.drain();
  leave_for_good();
  give_back_bytes(true);
  for (const auto& model : models_) {
    if (model->source != nullptr) model->source->connect({});
    for (void* pack : model->packs) free_host(pack);
  }
  for (const cu::DevicePtr allocation : plain_allocations_) {
    if (allocation != 0) pager::insist([&] { return driver_.mem_free(allocation); });
  }
}

base::Nanos PagerCore::CoreTask::step(Nanos now) {
  if (!prepared_) {
    // A query or a pinned allocation in the default mode would destroy a capture of the user's.
    cu::CaptureMode mode = cu::kCaptureRelaxed;
    core_.driver_.thread_exchange_stream_capture_mode(&mode);
    if (!core_.card_.make_current()) return now + base::kMillisecond;
    prepared_ = true;
  }
  return (core_.*work_)(now);
}

Caller& PagerCore::this_caller() {
  if (tls_caller.owner == identity_) return *tls_caller.caller;
  const std::uint64_t id = executor_.caller_id();
  const base::Lock lock(callers_mutex_);
  for (const auto& caller : callers_) {
    if (caller->id == id) {
      tls_caller = {identity_, caller.get()};
      return *caller;
    }
  }
  callers_.push_back(std::make_unique<Caller>());
  callers_.back()->id = id;
  tls_caller = {identity_, callers_.back().get()};
  return *callers_.back();
}

bool PagerCore::is_this_caller(const Caller& caller) const {
  return tls_caller.owner == identity_ && tls_caller.caller == &caller;
}

void PagerCore::pause(Nanos duration) {
  mutex_.lock();
  executor_.wait(mutex_, frames_changed_, executor_.now() + duration);
  mutex_.unlock();
}

Bytes PagerCore::floor_bytes() const {
  return round_up(std::max(largest_set_, largest_block_) + largest_block_, frames_.frame_bytes());
}

void PagerCore::free_host(void* pack) {
  pager::insist([&] { return driver_.mem_free_host(pack); });
}

void PagerCore::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
  for (Request* request : requests_) request->error = failure_;
  requests_.clear();
  attention_.store(false);
  executor_.notify_all(granted_);
  executor_.notify_all(frames_changed_);
}

// Small weights of a model share blocks of their own, copied from pinned memory that the pager owns.
Result<void> PagerCore::pack_small(ModelSpec& spec, Model& model) {
  constexpr Bytes kPackAlignment = 256;  // what CUDA allocations promise
  constexpr Bytes kLargestPack = 4 * kMiB;
  std::vector<std::size_t> small;
  for (std::size_t i = 0; i < spec.weights.size(); ++i) {
    if (spec.weights[i].bytes <= options_.small_weight) small.push_back(i);
  }
  std::size_t next = 0;
  while (next < small.size()) {
    Bytes size = 0;
    const std::size_t begin = next;
    for (; next < small.size(); ++next) {
      const Bytes bytes = round_up(spec.weights[small[next]].bytes, kPackAlignment);
      if (size > 0 && size + bytes > kLargestPack) break;
      model.places[small[next]] = {static_cast<BlockId>(model.blocks.size()), size};
      size += bytes;
    }
    void* pack = nullptr;
    if (const cu::Status status = driver_.mem_host_alloc(&pack, size, cu::kHostPortable); status != cu::kSuccess) {
      return driver_error(driver_, status, "pinning host memory for small weights");
    }
    model.packs.push_back(pack);
    std::memset(pack, 0, size);
    for (std::size_t i = begin; i < next; ++i) {
      const Weight& weight = spec.weights[small[i]];
      std::byte* to = static_cast<std::byte*>(pack) + model.places[small[i]].offset;
      if (weight.host != nullptr) {
        std::memcpy(to, weight.host, weight.bytes);
      } else if (auto read = spec.source->read(small[i], to); !read) {
        return read;
      }
    }
    model.blocks.push_back({round_up(size, pager::kGrain), true});
    model.sources.push_back(static_cast<const std::byte*>(pack));
    model.source_bytes.push_back(size);
    model.weight_of.push_back(0);
  }
  return {};
}

Result<ModelId> PagerCore::add_model(ModelSpec spec) {
  if (spec.weights.empty()) return Error{Errc::kInvalidArgument, fmt::format("model {} has no weights", spec.name)};
  auto owned = std::make_unique<Model>();
  Model& model = *owned;
  model.name = spec.name;
  model.priority = spec.priority;
  model.source = spec.source;
  model.places.resize(spec.weights.size());
  for (const Weight& weight : spec.weights) {
    if (weight.bytes == 0 || (weight.host == nullptr && spec.source == nullptr) ||
        weight.bytes > card_.total_bytes() * 1024) {
      return Error{Errc::kInvalidArgument, fmt::format("weight {} of model {} has {} bytes at {}", weight.name,
                                                       spec.name, weight.bytes, weight.host)};
    }
  }
  const Result<void> packed = pack_small(spec, model);
  const auto drop_packs = [&] {
    for (void* pack : model.packs) free_host(pack);
  };
  if (!packed) {
    drop_packs();
    return packed.error();
  }
  std::size_t biggest = 0;
  for (std::size_t i = 0; i < spec.weights.size(); ++i) {
    const Weight& weight = spec.weights[i];
    if (weight.bytes > spec.weights[biggest].bytes) biggest = i;
    if (weight.bytes <= options_.small_weight) continue;
    model.places[i] = {static_cast<BlockId>(model.blocks.size()), 0};
    model.blocks.push_back({round_up(weight.bytes, pager::kGrain), false});
    model.sources.push_back(static_cast<const std::byte*>(weight.host));
    model.source_bytes.push_back(weight.bytes);
    model.weight_of.push_back(static_cast<std::uint32_t>(i));
  }
  // The order of use as registered; a pack counts from the first of its weights on.
  std::vector<bool> seen(model.blocks.size(), false);
  for (std::size_t i = 0; i < spec.weights.size(); ++i) {
    const BlockId block = model.places[i].block;
    if (seen[block]) continue;
    seen[block] = true;
    model.uses.push_back({block, static_cast<std::uint32_t>(model.uses.size()), 0});
    if (!model.blocks[block].keep) model.expected_cost.push_back(std::max(0.0, spec.weights[i].cost));
    if (model.blocks[block].keep) model.expected_cost.push_back(0);
  }
  Bytes largest = 0;
  for (const pager::PlanBlock& block : model.blocks) {
    model.bytes += block.bytes;
    largest = std::max(largest, block.bytes);
  }

  mutex_.lock();
  const Bytes room = frames_.slots() == 0 ? budget_ : budget_ / frames_.frame_bytes() * frames_.frame_bytes();
  if (options_.mode != Mode::kOff && 2 * largest > room && model.bytes > room) {
    const Bytes budget = budget_;
    mutex_.unlock();
    drop_packs();
    return Error{Errc::kBelowFloor,
                 fmt::format("weight {} of model {} has {} bytes: the budget of {} bytes must hold it and one more in "
                             "flight; raise the budget to at least {} bytes",
                             spec.weights[biggest].name, spec.name, spec.weights[biggest].bytes, budget,
                             round_up(2 * largest, frames_.frame_bytes()))};
  }
  const BlockId first = block_count_.load();
  if (first + model.blocks.size() > kChunk * kMostChunks) {
    mutex_.unlock();
    drop_packs();
    return Error{Errc::kInvalidArgument, fmt::format("more than {} blocks", kChunk * kMostChunks)};
  }
  model.id = static_cast<ModelId>(models_.size());
  model.first_block = first;
  for (WeightPlace& weight : model.places) weight.block += first;
  for (std::uint32_t i = 0; i < model.blocks.size(); ++i) {
    const BlockId id = first + i;
    if (chunks_[id / kChunk] == nullptr) chunks_[id / kChunk] = std::make_unique<Block[]>(kChunk);
    Block& block = block_at(id);
    block.bytes = model.blocks[i].bytes;
    block.model = model.id;
    block.index = i;
  }
  models_.push_back(std::move(owned));
  block_count_.store(first + static_cast<BlockId>(model.blocks.size()), std::memory_order_release);
  registered_ += round_up(model.bytes, frames_.frame_bytes());
  largest_block_ = std::max(largest_block_, largest);
  index_uses(model);
  if (options_.mode == Mode::kOff) {
    const Result<void> loaded = load_whole(model);
    cu::DevicePtr unloaded = 0;
    Bytes unloaded_bytes = 0;
    std::vector<void*> dropped;
    if (!loaded) {
      model.removed = true;
      model.packs.swap(dropped);
      registered_ -= round_up(model.bytes, frames_.frame_bytes());
      if (model.id < plain_allocations_.size()) std::swap(plain_bytes_[model.id], unloaded_bytes);
      if (model.id < plain_allocations_.size()) std::swap(plain_allocations_[model.id], unloaded);
    }
    mutex_.unlock();
    if (!loaded) {
      pager::insist([&] { return driver_.stream_synchronize(arrivals_.stream()); });
      if (unloaded != 0) pager::insist([&] { return driver_.mem_free(unloaded); });
      for (void* pack : dropped) free_host(pack);
      return loaded.error();
    }
    return model.id;
  }
  partition();
  PlanInput input = plan_input(model);
  mutex_.unlock();
  pager::Plan plan = pager::make_plan(input);
  mutex_.lock();
  model.installed_origin = model.origin;
  install(model, std::move(plan));
  plan_frames();
  mutex_.unlock();
  if (model.source != nullptr) model.source->connect([this] { executor_.wake(copy_task_); });
  executor_.wake(frame_task_);
  return model.id;
}

Result<void> PagerCore::remove_model(ModelId id) {
  mutex_.lock();
  Model* model = model_at(id);
  if (model == nullptr) {
    mutex_.unlock();
    return Error{Errc::kNotFound, fmt::format("no model {}", id)};
  }
  for (std::uint32_t i = 0; i < model->blocks.size(); ++i) {
    if (!block_at(model->id_of(i)).leased()) continue;
    mutex_.unlock();
    return Error{Errc::kInvalidArgument, fmt::format("a lease on model {} is held", model->name)};
  }
  model->removed = true;  // no new lease, no further copy
  if (active_ == model) active_ = nullptr;
  finish_learning(*model);
  registered_ -= round_up(model->bytes, frames_.frame_bytes());
  for (std::uint32_t i = 0; i < model->blocks.size(); ++i) {
    if (options_.mode == Mode::kOff) {
      block_at(model->id_of(i)).try_drop();
    } else {
      evict(model->id_of(i));
    }
  }
  // Who waits for a lease on it would wait for ever.
  std::erase_if(requests_, [&](Request* request) {
    for (const BlockId block : request->blocks) {
      if (block_at(block).model == id)
        request->error = Error{Errc::kInvalidArgument, "the model was removed meanwhile"};
    }
    return request->error.has_value();
  });
  executor_.notify_all(granted_);
  // The caller may free the host memory when this returns: its copies must be over, those that no event covers too.
  while (!failure_ && arrivals_.unrecorded()) {
    executor_.wake(copy_task_);
    executor_.wait(mutex_, frames_changed_, executor_.now() + 100 * base::kMicrosecond);
  }
  const std::uint64_t last = arrivals_.issued();
  while (!failure_ && arrivals_.done() < last) {
    if (const cu::Status status = arrivals_.poll(); status != cu::kSuccess) {
      fail(driver_error(driver_, status, "waiting for copies"));
    } else if (arrivals_.done() < last) {
      executor_.wait(mutex_, frames_changed_, executor_.now() + 100 * base::kMicrosecond);
    }
  }
  give_back_bytes(false);
  if (model->source != nullptr) std::exchange(model->source, nullptr)->connect({});
  std::vector<void*> packs = std::move(model->packs);
  model->packs.clear();
  partition();
  plan_frames();
  mutex_.unlock();
  for (void* pack : packs) free_host(pack);
  if (options_.mode == Mode::kOff) {
    streams_.drain();
    mutex_.lock();
    const cu::DevicePtr allocation = std::exchange(plain_allocations_[id], 0);
    plain_bytes_[id] = 0;
    mutex_.unlock();
    pager::insist([&] { return driver_.mem_free(allocation); });
  } else {
    executor_.wake(frame_task_);
  }
  return {};
}

WeightPlace PagerCore::place(ModelId model, std::size_t weight) {
  const base::Lock lock(mutex_);
  return models_[model]->places[weight];
}

PagerStats PagerCore::stats() {
  const base::Lock lock(mutex_);
  PagerStats stats = counters_;
  stats.budget = budget_;
  stats.ceiling = ceiling_;
  stats.frame_bytes = frames_.frame_bytes();
  stats.mapping_calls = frames_.mapping_calls() + canary_.mapping_calls();
  if (proven_leaving_) stats.leaving.quarantined = quarantined();
  if (options_.mode == Mode::kOff) {
    for (const Bytes bytes : plain_bytes_) stats.held += bytes;
    stats.peak_held = stats.floor = stats.held;
    return stats;
  }
  stats.held = frames_.held_bytes();
  stats.peak_held = frames_.peak_bytes();
  stats.floor = std::max(floor_bytes(), frames_.frame_bytes());
  for (std::size_t slot = 0; slot < frames_.slots(); ++slot) {
    if (frames_.state(slot) != pager::Frames::State::kUnmapped && frame_is_busy(slot))
      stats.busy += frames_.frame_bytes();
  }
  const Bytes needless = active_ != nullptr ? active_->plan.reclaimable : stats.held;
  stats.reclaimable = std::min(needless, stats.held - std::min(stats.held, stats.floor));
  return stats;
}

ModelStats PagerCore::model_stats(ModelId id) {
  const base::Lock lock(mutex_);
  ModelStats stats;
  const Model* model = model_at(id);
  if (model == nullptr) return stats;
  stats.bytes = model->bytes;
  for (std::uint32_t i = 0; i < model->blocks.size(); ++i) {
    if (block_at(model->id_of(i)).resident()) stats.resident += model->blocks[i].bytes;
  }
  stats.needed = model->plan.needed;
  stats.ring = model->plan.ring;
  stats.largest_streamed = model->plan.largest_streamed;
  stats.copied = model->copied;
  stats.plan_generation = model->plan_generation;
  stats.predicted_pass_seconds = static_cast<double>(model->plan.predicted) * 1e-9;
  return stats;
}

}  // namespace tidegate
