#include <algorithm>

#include <fmt/format.h>

#include "src/driver/errors.h"
#include "src/pager/core.h"
#include "src/pager/relaxed_capture.h"

namespace tidegate {

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    if (core_ != nullptr) release();
    core_ = std::exchange(other.core_, nullptr);
    take(other);
  }
  return *this;
}

void Lease::release() {
  if (core_ == nullptr) return;
  core_->release(*this);
  core_ = nullptr;
  delete[] std::exchange(spilled_, nullptr);
}

DeviceAddress Lease::address(std::size_t index) const { return core_->address(blocks()[index]); }

Result<void> Lease::extend(std::span<const BlockId> blocks) {
  if (core_ == nullptr) return Error{Errc::kInvalidArgument, "extending a lease that is not held"};
  return core_->extend(*this, blocks);
}

// All or none; on success the stream has been made to wait for what is still arriving.
bool PagerCore::pin_resident(std::span<const BlockId> blocks, StreamState& stream, cu::Status& status) {
  status = cu::kSuccess;
  std::uint64_t latest = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Block& block = block_at(blocks[i]);
    if (!block.try_lease()) {
      unpin(blocks.first(i));
      return false;
    }
    latest = std::max(latest, block.arrival);
  }
  if (latest > stream.waited.load(std::memory_order_acquire) && latest > arrivals_.done()) {
    const pager::RelaxedCapture relaxed(driver_);
    cu::CaptureStatus capture = cu::kCaptureNone;
    status = driver_.stream_is_capturing(stream.stream(), &capture);
    if (status == cu::kSuccess && capture != cu::kCaptureNone) {
      // A capture must not wait for work outside of it.
      arrivals_.poll();
      if (latest > arrivals_.done()) status = cu::kStreamCaptureUnsupported;
    }
    if (status == cu::kSuccess) status = arrivals_.make_wait(stream, latest);
    if (status != cu::kSuccess) {
      unpin(blocks);
      return false;
    }
  }
  return true;
}

Error PagerCore::wait_failed(cu::Status status) {
  if (status == cu::kStreamCaptureUnsupported) {
    return {Errc::kCapturing,
            "a copy would be needed and the stream captures a graph; take the lease before the capture "
            "begins"};
  }
  return driver::driver_error(driver_, status, "making a stream wait for a copy");
}

Error PagerCore::too_large(Bytes set, Bytes room) const {
  return {Errc::kBelowFloor,
          fmt::format("a lease of {} bytes can never fit in {} bytes; lease fewer blocks at a time or "
                      "raise the budget",
                      set, room)};
}

void PagerCore::unpin(std::span<const BlockId> blocks) {
  for (const BlockId id : blocks) block_at(id).state.fetch_sub(1, std::memory_order_release);
}

Lease PagerCore::make_lease(std::span<const BlockId> blocks, StreamState& stream, Caller& caller) {
  Lease lease;
  lease.core_ = this;
  lease.stream_ = &stream;
  lease.caller_ = &caller;
  lease.count_ = static_cast<std::uint32_t>(blocks.size());
  if (blocks.size() <= Lease::kInline) {
    for (std::size_t i = 0; i < blocks.size(); ++i) lease.inline_[i] = blocks[i];
  } else {
    lease.spilled_ = new BlockId[blocks.size()];
    std::copy(blocks.begin(), blocks.end(), lease.spilled_);
  }
  caller.held.add_own(1);  // make_lease runs on the caller's own thread
  return lease;
}

Result<Lease> PagerCore::lease(std::span<const BlockId> blocks, StreamHandle handle) {
  StreamState* stream = streams_.get(handle);
  if (stream == nullptr) return Error{Errc::kInvalidArgument, "more streams than the pager keeps count of"};
  for (const BlockId id : blocks) {
    if (!known(id)) return Error{Errc::kInvalidArgument, fmt::format("there is no block {}", id)};
  }
  if (blocks.empty()) return Error{Errc::kInvalidArgument, "a lease of no blocks"};
  Caller& caller = this_caller();
  if (learning_.load(std::memory_order_acquire) == 0 && !gate_.load(std::memory_order_acquire)) {
    cu::Status status = cu::kSuccess;
    if (pin_resident(blocks, *stream, status)) return make_lease(blocks, *stream, caller);
    if (status != cu::kSuccess) return wait_failed(status);
  }
  return lease_slow(blocks, *stream, caller);
}

Result<Lease> PagerCore::lease_slow(std::span<const BlockId> blocks, StreamState& stream, Caller& caller) {
  const pager::RelaxedCapture relaxed(driver_);
  mutex_.lock();
  std::int32_t step = -1;
  const auto refuse = [&](Error error) {
    Model* model = model_at(block_at(blocks[0]).model);
    if (step >= 0 && model != nullptr && model->learner != nullptr) model->learner->give_up_timing();
    mutex_.unlock();
    return error;
  };
  if (failure_) return refuse(*failure_);
  Bytes set = 0;
  bool absent = false;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Block& block = block_at(blocks[i]);
    Model* model = model_at(block.model);
    if (model == nullptr) return refuse({Errc::kInvalidArgument, fmt::format("block {}'s model is gone", blocks[i])});
    if (std::find(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(i), blocks[i]) ==
        blocks.begin() + static_cast<std::ptrdiff_t>(i)) {
      set += block.bytes;
    }
    // What lies in a frame that goes has to come again.
    absent = absent || (block.state.load() & (pager::kResident | pager::kDoomed)) != pager::kResident;
  }
  if (options_.mode != Mode::kOff) {
    const Model& model = *models_[block_at(blocks[0]).model];
    if (set > class_room(model) && set > largest_set_ && set <= budget_) {
      largest_set_ = set;  // the floor that a class keeps beside others follows the largest set that was asked for
      partition();
    }
    const Bytes room = class_room(model);
    if (set > room) return refuse(too_large(set, room));
    largest_set_ = std::max(largest_set_, set);
  }
  if (absent) {
    cu::CaptureStatus capture = cu::kCaptureNone;
    const cu::Status status = driver_.stream_is_capturing(stream.stream(), &capture);
    if (status != cu::kSuccess)
      return refuse(driver::driver_error(driver_, status, "asking whether a stream captures"));
    if (capture != cu::kCaptureNone) {
      return refuse(wait_failed(cu::kStreamCaptureUnsupported));
    }
  }
  step = learn_request(blocks, stream);
  const auto granted = [&]() -> Result<Lease> {
    Lease lease = make_lease(blocks, stream, caller);
    Model& model = *models_[block_at(blocks[0]).model];
    if (step >= 0 && model.learner != nullptr) {
      model.learner->granted(step, stream.stream());
      lease.step_ = step;
    }
    mutex_.unlock();
    return lease;
  };
  // A caller that holds leases is never kept behind the gate: what it holds may be what the others wait for.
  if (!gate_.load() || caller.held.load() > 0) {
    cu::Status status = cu::kSuccess;
    if (pin_resident(blocks, stream, status)) return granted();
    if (status != cu::kSuccess) return refuse(wait_failed(status));
  }
  Request request{blocks, &stream, &caller, set, std::nullopt, false, 0};
  requests_.push_back(&request);
  attention_.store(true);
  ++counters_.waits;
  ++caller.waiting;
  executor_.wake(copy_task_);
  while (!request.granted && !request.error) executor_.wait(mutex_, granted_, base::kNever);
  --caller.waiting;
  if (request.error) return refuse(*request.error);
  return granted();
}

Result<void> PagerCore::extend(Lease& lease, std::span<const BlockId> blocks) {
  const pager::RelaxedCapture relaxed(driver_);
  const base::Lock lock(mutex_);
  if (failure_) return *failure_;
  for (const BlockId id : blocks) {
    if (!known(id) || model_at(block_at(id).model) == nullptr) {
      return Error{Errc::kInvalidArgument, fmt::format("there is no block {}", id)};
    }
  }
  cu::Status status = cu::kSuccess;
  if (!pin_resident(blocks, *lease.stream_, status)) {
    if (status != cu::kSuccess) return wait_failed(status);
    cu::CaptureStatus capture = cu::kCaptureNone;
    status = driver_.stream_is_capturing(lease.stream_->stream(), &capture);
    if (status != cu::kSuccess) return driver::driver_error(driver_, status, "asking whether a stream captures");
    if (capture != cu::kCaptureNone) return wait_failed(cu::kStreamCaptureUnsupported);
    Request request{blocks, lease.stream_, lease.caller_, 0, std::nullopt, false, 0};
    const Fetch outcome = try_grant(request, Urgency::kDemand);
    if (request.error) return *request.error;
    if (outcome == Fetch::kComing) {
      return Error{Errc::kOutOfMemory,
                   "the blocks to be added have yet to be read by their model's source; lease them from the start, or "
                   "try again"};
    }
    if (outcome != Fetch::kIssued) {
      return Error{Errc::kOutOfMemory, "no room can be had at once for the blocks to be added; release some first"};
    }
  }
  const std::size_t count = lease.count_ + blocks.size();
  if (count > Lease::kInline) {
    auto* spilled = new BlockId[count];
    std::copy(lease.blocks(), lease.blocks() + lease.count_, spilled);
    std::copy(blocks.begin(), blocks.end(), spilled + lease.count_);
    delete[] std::exchange(lease.spilled_, spilled);
  } else {
    std::copy(blocks.begin(), blocks.end(), lease.inline_.data() + lease.count_);
  }
  lease.count_ = static_cast<std::uint32_t>(count);
  return {};
}

// Notes that work on this stream up to the end of its open epoch may use the block.
void PagerCore::note_release(Block& block, StreamState& stream) {
  const std::uint64_t word = pager::pack({stream.slot, stream.epoch.load(std::memory_order_acquire)});
  const std::uint64_t before = block.last_use.exchange(word, std::memory_order_acq_rel);
  if (before == 0 || before >> 48 == word >> 48) {
    if (before <= word) return;
    // Another release on the same stream came in between with a later epoch: keep the later one.
  } else if (streams_.complete(pager::unpack(before))) {
    return;
  }
  const base::Lock lock(uses_mutex_);
  block.more_uses.push_back(pager::unpack(before));
  if (block.more_uses.size() > 16) {
    std::erase_if(block.more_uses, [this](pager::Use use) { return streams_.complete(use); });
  }
}

void PagerCore::release(Lease& lease) {
  StreamState& stream = *lease.stream_;
  const std::span<const BlockId> blocks(lease.blocks(), lease.count_);
  bool ring = false;
  for (const BlockId id : blocks) {
    Block& block = block_at(id);
    note_release(block, stream);
    ring = ring || (block.state.load(std::memory_order_relaxed) & pager::kRing) != 0;
  }
  if (ring || lease.step_ >= 0) {
    const pager::RelaxedCapture relaxed(driver_);
    if (ring) streams_.close_from_outside(stream);  // if it fails, the copy that needs the bytes tries again
    released_ring_blocks(lease);
  } else {
    // A count that threads on one stream may lose a few of: it only decides when the epoch closes.
    const std::uint32_t releases = stream.releases.load(std::memory_order_relaxed) + 1;
    stream.releases.store(releases, std::memory_order_relaxed);
    const std::uint64_t copies = arrivals_.issued();
    if (releases >= StreamState::kReleasesPerQuietEpoch ||
        (releases >= StreamState::kReleasesPerEpoch && copies != stream.copies.load(std::memory_order_relaxed))) {
      stream.copies.store(copies, std::memory_order_relaxed);
      const pager::RelaxedCapture relaxed(driver_);
      streams_.close_from_outside(stream);
    }
  }
  unpin(blocks);
  if (is_this_caller(*lease.caller_)) {
    lease.caller_->held.add_own(-1);
  } else {
    lease.caller_->held.release_by_other();
  }
  if (ring || attention_.load(std::memory_order_acquire)) {
    executor_.wake(copy_task_);
    if (attention_.load(std::memory_order_acquire)) executor_.wake(frame_task_);
  }
}

void PagerCore::released_ring_blocks(const Lease& lease) {
  const base::Lock lock(mutex_);
  ++changes_;
  for (std::size_t i = 0; i < lease.count_; ++i) {
    Block& block = block_at(lease.blocks()[i]);
    Model* model = model_at(block.model);
    if (model == nullptr) continue;
    if (i == 0 && lease.step_ >= 0 && model->learner != nullptr) {
      model->learner->released(lease.step_, lease.stream_->stream());
    }
    if ((block.state.load() & pager::kRing) == 0) continue;
    block.state.fetch_or(pager::kUsed, std::memory_order_acq_rel);
    advance_cursor(*model, block.index);
  }
}

// Under mutex_. The pass that is being learned takes note of the request, if there is one.
std::int32_t PagerCore::learn_request(std::span<const BlockId> blocks, StreamState& stream) {
  Model& model = *models_[block_at(blocks[0]).model];
  if (options_.mode == Mode::kOff) return -1;
  if (model.learner == nullptr && !model.learned && model.learned_uses.empty()) start_learning(model);
  if (model.learner == nullptr || model.learner->finished()) return -1;
  std::vector<std::uint32_t> indices;
  for (const BlockId id : blocks) {
    if (block_at(id).model == model.id) indices.push_back(block_at(id).index);
  }
  // A pack of small weights comes round many times in a pass, so it tells nothing; a caller that marks its passes does
  // so always.
  const bool telling = !model.marks_passes && !model.blocks[indices[0]].keep;
  if (telling && model.learner->steps() > 1 && model.learner->begins_again(indices[0])) {
    finish_learning(model);
    return -1;
  }
  if (telling) model.learner->first_telling(indices[0]);
  return model.learner->request(indices, stream.stream());
}

void PagerCore::start_learning(Model& model) {
  model.learner = std::make_unique<pager::Learner>(driver_);
  learning_.fetch_add(1);
}

void PagerCore::finish_learning(Model& model) {
  if (model.learner == nullptr || model.learner->finished()) return;
  model.learner->finish();
  learning_.fetch_sub(1);
  executor_.wake(plan_task_);
}

void PagerCore::begin_pass(ModelId id) {
  {
    const base::Lock lock(mutex_);
    Model* model = model_at(id);
    if (model == nullptr || options_.mode == Mode::kOff) return;
    model->marks_passes = true;
    if (model->learner != nullptr && model->learner->steps() > 0) finish_learning(*model);
    // An order that surprised the plan is learned again.
    if (model->learner == nullptr && model->learned_uses.empty() &&
        (!model->learned || model->surprises * 20 > model->uses.size())) {
      start_learning(*model);
    }
    for (const auto& other : models_) {  // a model that is not run any more must not slow the others' leases down
      if (other.get() == model || other->learner == nullptr || other->learner->finished()) continue;
      if (other->learner->steps() * 10 >= other->uses.size() * 9) {
        finish_learning(*other);
      } else {
        other->learner.reset();
        learning_.fetch_sub(1);
      }
    }
    model->surprises = 0;
    const std::uint64_t n = model->uses.size();
    model->cursor = (model->cursor + n - 1) / n * n;  // position 0 is "before the first use"; uses count from 1
    model->fetch = std::max(model->fetch, model->cursor + 1);
    activate(*model);
  }
  executor_.wake(copy_task_);
}

void PagerCore::end_step(StreamHandle handle) {
  StreamState* stream = streams_.get(handle);
  if (stream == nullptr) return;
  const pager::RelaxedCapture relaxed(driver_);
  streams_.close_from_outside(*stream);
}

void PagerCore::forget_stream(StreamHandle handle) {
  const pager::RelaxedCapture relaxed(driver_);
  streams_.forget(handle);
}

void PagerCore::declare_idle() {
  streams_.all_complete();
  const pager::RelaxedCapture relaxed(driver_);
  arrivals_.poll();
  executor_.wake(copy_task_);
  executor_.wake(frame_task_);
}

}  // namespace tidegate
