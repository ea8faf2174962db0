// Contexts: made, made current, synchronised, destroyed.
#include <algorithm>

#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

std::shared_ptr<Context> make_context(Call& call, int card_index, bool primary, cu::Status& status) {
  World& world = call.world;
  CardState& card = *world.cards[static_cast<std::size_t>(card_index)];
  Holding holding{HoldingKind::kContext, card.profile.context, 0};
  status = card.personality->create(call.process, holding, world.timeline.now());
  if (status != cu::kSuccess) return nullptr;
  Stats& stats = call.process.counters;
  stats.committed += card.profile.context;
  stats.peak_committed = std::max(stats.peak_committed, stats.committed);
  auto context = std::make_shared<Context>();
  context->handle = call.process.new_handle();
  context->process = &call.process;
  context->card = card_index;
  context->primary = primary;
  context->holding = holding;
  context->default_stream = std::make_shared<Stream>();
  context->default_stream->context = context.get();
  context->default_stream->slot = call.process.take_slot();
  context->default_stream->epoch = call.process.slots[context->default_stream->slot];
  call.process.contexts[context->handle] = context;
  return context;
}

std::shared_ptr<Context> primary_of(Process& process, int card) {
  for (const auto& [handle, context] : process.contexts) {
    if (context->primary && context->card == card) return context;
  }
  return nullptr;
}

bool valid_device(const World& world, cu::Device device) {
  return device >= 0 && device < static_cast<int>(world.cards.size());
}

// Waits for the context's work, then destroys it.
cu::Status finish_and_destroy(Call& call, std::uint64_t handle) {
  const bool alive = call.world.wait_until(call.process, [&] {
    const auto* found = find_in(call.process.contexts, handle);
    return found == nullptr || (*found)->pending == 0;
  });
  if (!alive) return cu::kDeinitialized;
  const auto* found = find_in(call.process.contexts, handle);
  if (found == nullptr) return cu::kContextIsDestroyed;
  const std::shared_ptr<Context> context = *found;
  ++call.process.counters.device_syncs;
  observe_context(call.process, *context);
  destroy_context(call.world, call.process, *context);
  return cu::kSuccess;
}

}  // namespace

void destroy_context(World& world, Process& process, Context& context) {
  const std::shared_ptr<Context> keep = process.contexts[context.handle];
  world.drop_work(context);
  std::vector<std::shared_ptr<Mapping>> gone;
  for (const auto& [va, mapping] : process.space.mappings()) {
    if (mapping->kind == MappingKind::kAlloc && mapping->owner == context.handle) gone.push_back(mapping);
  }
  for (const auto& mapping : gone) {
    world.remove_mapping(process, mapping, "context destroyed");
    const auto chunk = std::find_if(process.chunks.begin(), process.chunks.end(),
                                    [&](const auto& entry) { return entry.second == mapping->block; });
    if (chunk == process.chunks.end()) {
      process.space.unreserve(mapping->va, mapping->size);
    } else {
      process.small[context.card].put(mapping->va, mapping->size);
    }
  }
  while (const auto chunk = process.small[context.card].take_empty_chunk()) {
    give_chunk_back(world, process, chunk->first, chunk->second);
  }
  std::erase_if(process.streams, [&](const auto& entry) {
    if (entry.second->context != &context) return false;
    entry.second->destroyed = true;
    return true;
  });
  std::erase_if(process.events, [&](const auto& entry) { return entry.second->context == context.handle; });
  std::erase_if(process.functions, [&](const auto& entry) {
    const auto* module = find_in(process.modules, entry.second.module);
    return module == nullptr || (*module)->context == context.handle;
  });
  std::erase_if(process.modules, [&](const auto& entry) { return entry.second->context == context.handle; });
  std::erase_if(process.captures, [&](const auto& entry) {
    return std::any_of(entry.second->members.begin(), entry.second->members.end(),
                       [&](const auto& member) { return member->context == &context; });
  });
  // What a default stream or a stream did is over: its clock stays in the host's, its slots may be used again.
  for (const auto& stream : context.streams) stream->destroyed = true;
  process.observe(context.default_stream->clock);
  for (const auto& stream : context.streams) process.observe(stream->clock);
  prune_streams(process, context);
  process.free_slots.push_back(context.default_stream->slot);
  CardState& card = *world.cards[static_cast<std::size_t>(context.card)];
  card.personality->destroy(process, context.holding, world.timeline.now());
  process.counters.committed -= context.holding.bytes;
  process.contexts.erase(context.handle);
}

cu::Status SimDriver::device_primary_ctx_retain(Context* context, Device device) {
  bool made = false;
  {
    const base::Lock lock(world_.mutex);
    made = primary_of(process_, device) != nullptr;
  }
  const base::Nanos cost = cost_of(world_, made ? Id::device_primary_ctx_retain : Id::ctx_create, 0);
  return run_call(world_, process_, Id::device_primary_ctx_retain, cost, [&](Call& call) {
    if (context == nullptr) return cu::kInvalidValue;
    if (!valid_device(world_, device)) return cu::kInvalidDevice;
    std::shared_ptr<sim::Context> primary = primary_of(process_, device);
    if (primary == nullptr) {
      cu::Status status = cu::kSuccess;
      primary = make_context(call, device, true, status);
      if (primary == nullptr) return status;
    }
    ++primary->references;
    *context = to_handle<cu::Context>(primary->handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::device_primary_ctx_release(Device device) {
  return run_call(world_, process_, Id::device_primary_ctx_release, cost_of(world_, Id::device_primary_ctx_release, 0),
                  [&](Call& call) {
                    if (!valid_device(world_, device)) return cu::kInvalidDevice;
                    const std::shared_ptr<sim::Context> primary = primary_of(process_, device);
                    if (primary == nullptr) return cu::kInvalidContext;
                    if (--primary->references > 0) return cu::kSuccess;
                    return finish_and_destroy(call, primary->handle);
                  });
}

cu::Status SimDriver::device_primary_ctx_get_state(Device device, unsigned* flags, int* active) {
  return run_call(world_, process_, Id::device_primary_ctx_get_state,
                  cost_of(world_, Id::device_primary_ctx_get_state, 0), [&](Call&) {
                    if (flags == nullptr || active == nullptr) return cu::kInvalidValue;
                    if (!valid_device(world_, device)) return cu::kInvalidDevice;
                    *flags = 0;
                    *active = primary_of(process_, device) != nullptr ? 1 : 0;
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::ctx_create(Context* context, unsigned, Device device) {
  return run_call(world_, process_, Id::ctx_create, cost_of(world_, Id::ctx_create, 0), [&](Call& call) {
    if (context == nullptr) return cu::kInvalidValue;
    if (!valid_device(world_, device)) return cu::kInvalidDevice;
    cu::Status status = cu::kSuccess;
    const std::shared_ptr<sim::Context> made = make_context(call, device, false, status);
    if (made == nullptr) return status;
    call.thread.contexts.push_back(made->handle);
    *context = to_handle<cu::Context>(made->handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::ctx_destroy(Context context) {
  return run_call(world_, process_, Id::ctx_destroy, cost_of(world_, Id::ctx_destroy, 0), [&](Call& call) {
    const std::uint64_t handle = to_number(context);
    const auto* found = find_in(process_.contexts, handle);
    if (found == nullptr || (*found)->primary) return cu::kInvalidContext;
    const cu::Status status = finish_and_destroy(call, handle);
    if (status == cu::kSuccess && !call.thread.contexts.empty() && call.thread.contexts.back() == handle) {
      call.thread.contexts.pop_back();
    }
    return status;
  });
}

cu::Status SimDriver::ctx_set_current(Context context) {
  return run_call(world_, process_, Id::ctx_set_current, cost_of(world_, Id::ctx_set_current, 0), [&](Call& call) {
    const std::uint64_t handle = to_number(context);
    if (handle != 0 && find_in(process_.contexts, handle) == nullptr) return cu::kInvalidContext;
    auto& stack = call.thread.contexts;
    if (!stack.empty()) stack.pop_back();
    if (handle != 0) stack.push_back(handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::ctx_get_current(Context* context) {
  return run_call(world_, process_, Id::ctx_get_current, cost_of(world_, Id::ctx_get_current, 0), [&](Call& call) {
    if (context == nullptr) return cu::kInvalidValue;
    *context = call.thread.contexts.empty() ? nullptr : to_handle<cu::Context>(call.thread.contexts.back());
    return cu::kSuccess;
  });
}

cu::Status SimDriver::ctx_push_current(Context context) {
  return run_call(world_, process_, Id::ctx_push_current, cost_of(world_, Id::ctx_push_current, 0), [&](Call& call) {
    const std::uint64_t handle = to_number(context);
    if (find_in(process_.contexts, handle) == nullptr) return cu::kInvalidContext;
    call.thread.contexts.push_back(handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::ctx_pop_current(Context* context) {
  return run_call(world_, process_, Id::ctx_pop_current, cost_of(world_, Id::ctx_pop_current, 0), [&](Call& call) {
    auto& stack = call.thread.contexts;
    if (stack.empty()) return cu::kInvalidContext;
    if (context != nullptr) *context = to_handle<cu::Context>(stack.back());
    stack.pop_back();
    return cu::kSuccess;
  });
}

cu::Status SimDriver::ctx_get_device(Device* device) {
  return run_call(world_, process_, Id::ctx_get_device, cost_of(world_, Id::ctx_get_device, 0), [&](Call& call) {
    if (device == nullptr) return cu::kInvalidValue;
    *device = call.context->card;
    return cu::kSuccess;
  });
}

cu::Status SimDriver::ctx_synchronize() {
  return run_call(world_, process_, Id::ctx_synchronize, cost_of(world_, Id::ctx_synchronize, 0), [&](Call& call) {
    ++process_.counters.device_syncs;
    const std::uint64_t handle = call.context->handle;
    bool capturing = false;
    for (const auto& [id, capture] : process_.captures) {
      if (capture->members.front()->context != call.context) continue;
      invalidate(*capture);
      capturing = true;
    }
    if (capturing) return cu::kStreamCaptureUnsupported;
    const bool alive = world_.wait_until(process_, [&] {
      const auto* found = find_in(process_.contexts, handle);
      return found == nullptr || (*found)->pending == 0;
    });
    if (!alive) return cu::kDeinitialized;
    const auto* found = find_in(process_.contexts, handle);
    if (found == nullptr) return cu::kContextIsDestroyed;
    const std::shared_ptr<sim::Context> context = *found;
    if (context->sticky != cu::kSuccess) return context->sticky;
    observe_context(process_, *context);
    trim_pools(call, context->card);
    return cu::kSuccess;
  });
}

}  // namespace tidegate::sim
