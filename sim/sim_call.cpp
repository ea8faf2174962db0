#include "sim/sim_call.h"

#include <algorithm>
#include <cmath>

namespace tidegate::sim {

CallRules rules_of(Id id) {
  CallRules rules;
  switch (id) {
    case Id::init:
    case Id::driver_get_version:
    case Id::get_error_name:
    case Id::get_error_string:
      rules.needs_init = false;
      rules.tolerates_sticky = true;
      break;
    // Not on a context: they work whatever the current one's state is, so that a program can get away from it.
    case Id::device_get_count:
    case Id::device_get:
    case Id::device_get_name:
    case Id::device_get_uuid:
    case Id::device_total_mem:
    case Id::device_get_attribute:
    case Id::device_get_default_mem_pool:
    case Id::device_primary_ctx_retain:
    case Id::device_primary_ctx_release:
    case Id::device_primary_ctx_get_state:
    case Id::ctx_create:
    case Id::ctx_destroy:
    case Id::ctx_set_current:
    case Id::ctx_get_current:
    case Id::ctx_push_current:
    case Id::ctx_pop_current:
    case Id::thread_exchange_stream_capture_mode:
      rules.tolerates_sticky = true;
      break;
    case Id::ctx_get_device:
      rules.needs_context = true;
      rules.tolerates_sticky = true;
      break;
    // Physical memory and addresses belong to the process.
    case Id::mem_get_allocation_granularity:
    case Id::mem_address_reserve:
    case Id::mem_address_free:
    case Id::mem_create:
    case Id::mem_release:
    case Id::mem_map:
    case Id::mem_unmap:
    case Id::mem_set_access:
    case Id::mem_pool_create:
    case Id::mem_pool_destroy:
    case Id::mem_pool_set_attribute:
    case Id::mem_pool_get_attribute:
    case Id::mem_pool_trim_to:
    case Id::graph_destroy:
      break;
    case Id::mem_alloc:
    case Id::mem_free:
    case Id::mem_host_alloc:
    case Id::mem_free_host:
    case Id::mem_host_register:
    case Id::mem_host_unregister:
    case Id::stream_query:
    case Id::stream_synchronize:
    case Id::event_query:
    case Id::event_synchronize:
      rules.needs_context = true;
      rules.unsafe_in_capture = true;
      break;
    default:
      rules.needs_context = true;
      break;
  }
  return rules;
}

base::Nanos cost_of(const World& world, Id id, Bytes bytes, std::uint64_t times) {
  // An absurd size is refused sooner than its cost would pass; and the clock must not run over.
  constexpr Bytes kMostBytes = Bytes{1} << 44;
  if (world.cards.empty()) return 0;
  return world.cards.front()->profile.cost(id).of(std::min(bytes, kMostBytes), times);
}

namespace {

// C-1.
bool makes_handle(Id id) {
  switch (id) {
    case Id::device_primary_ctx_retain:
    case Id::ctx_create:
    case Id::mem_alloc:
    case Id::mem_address_reserve:
    case Id::mem_create:
    case Id::mem_host_alloc:
    case Id::stream_create:
    case Id::stream_create_with_priority:
    case Id::event_create:
    case Id::mem_pool_create:
    case Id::mem_alloc_async:
    case Id::mem_alloc_from_pool_async:
    case Id::module_load_data:
      return true;
    default:
      return false;
  }
}

bool fails_for_no_reason(Call& call) {
  if (call.world.cards.empty() || !makes_handle(call.id)) return false;
  const Profile& profile = call.world.cards.front()->profile;
  return profile.out_of_memory_probability > 0 && profile.rules.on(kRuleC1) &&
         call.world.random.unit() < profile.out_of_memory_probability;
}

cu::Status injected(Process& process, Id id) {
  for (auto it = process.injections.begin(); it != process.injections.end(); ++it) {
    if (it->id != id) continue;
    if (it->skip > 0) {
      --it->skip;
      continue;
    }
    const cu::Status status = it->status;
    if (--it->times == 0) process.injections.erase(it);
    return status;
  }
  return cu::kSuccess;
}

}  // namespace

base::Nanos time_of(World& world, Process& process, Id id, base::Nanos mean) {
  if (world.cards.empty()) return mean;
  CardState& card = *world.cards.front();
  const CallCost& cost = card.profile.cost(id);
  const bool slow = cost.slow_factor > 1;
  const bool delayed = id == Id::mem_set_access && card.profile.managed_by_windows();
  if (!card.profile.rules.on(kRuleA4) || (!slow && !delayed)) return mean;
  const base::Lock lock(world.mutex);
  const double factor = slow ? cost.factor(world.random.unit()) : 1;
  const base::Nanos delay = delayed ? card.personality->mapping_delay(process, world.advance()) : 0;
  return std::llround(static_cast<double>(mean) * factor) + delay;
}

cu::Status check_capture(Call& call) {
  if (call.process.captures.empty() || call.thread.capture_mode == cu::kCaptureRelaxed) return cu::kSuccess;
  bool refused = false;
  for (const auto& [id, capture] : call.process.captures) {
    const bool own = capture->thread == call.thread_id;
    const bool counts = own ? capture->mode != cu::kCaptureRelaxed
                            : capture->mode == cu::kCaptureGlobal && call.thread.capture_mode == cu::kCaptureGlobal;
    if (!counts) continue;
    invalidate(*capture);
    refused = true;
  }
  return refused ? cu::kStreamCaptureUnsupported : cu::kSuccess;
}

cu::Status enter_call(Call& call) {
  Process& process = call.process;
  ++process.counters.total_calls;
  ++process.counters.calls[static_cast<std::size_t>(call.id)];
  if (process.dead) return cu::kDeinitialized;
  const CallRules rules = rules_of(call.id);
  if (rules.needs_init && !process.initialized) return cu::kNotInitialized;
  if (!call.thread.contexts.empty() && call.thread.contexts.back() != 0) {
    const auto* found = find_in(process.contexts, call.thread.contexts.back());
    if (found == nullptr) {
      if (rules.needs_context) return cu::kContextIsDestroyed;
    } else {
      call.context = found->get();
      if (call.context->sticky != cu::kSuccess && !rules.tolerates_sticky) return call.context->sticky;
    }
  }
  if (rules.needs_context && call.context == nullptr) return cu::kInvalidContext;
  if (!process.injections.empty()) {
    const cu::Status status = injected(process, call.id);
    if (status != cu::kSuccess) return status;
  }
  if (fails_for_no_reason(call)) return cu::kOutOfMemory;
  return rules.unsafe_in_capture ? check_capture(call) : cu::kSuccess;
}

void leave_call(Call& call, cu::Status status) {
  if (status != cu::kSuccess && status != cu::kNotReady) ++call.process.counters.failed_calls;
  if (call.world.options.trace) {
    call.world.log("process " + std::to_string(call.process.id()) + " " + driver::name_of(call.id) + " = " +
                   std::to_string(status));
  }
}

std::shared_ptr<Stream> add_stream(Process& process, Context& context, bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->handle = process.new_handle();
  stream->context = &context;
  stream->blocking = blocking;
  stream->slot = process.take_slot();
  stream->epoch = process.slots[stream->slot];
  process.streams[stream->handle] = stream;
  context.streams.push_back(stream);
  return stream;
}

namespace {

// The calling thread's default stream in the current context, made on first use; it blocks with the legacy one.
std::shared_ptr<Stream> own_stream(Call& call) {
  std::uint64_t& handle = call.thread.own_streams[call.context->handle];
  if (const auto* found = find_in(call.process.streams, handle)) return *found;
  const std::shared_ptr<Stream> made = add_stream(call.process, *call.context, true);
  handle = made->handle;
  return made;
}

}  // namespace

cu::Status find_stream(Call& call, cu::Stream handle, std::shared_ptr<Stream>& stream) {
  constexpr std::uint64_t kLegacy = 1;     // CU_STREAM_LEGACY
  constexpr std::uint64_t kPerThread = 2;  // CU_STREAM_PER_THREAD
  const std::uint64_t number = to_number(handle);
  if (number == kPerThread) {
    stream = own_stream(call);
    return cu::kSuccess;
  }
  if (number == 0 || number == kLegacy) {
    stream = call.context->default_stream;
    return cu::kSuccess;
  }
  const auto* found = find_in(call.process.streams, number);
  if (found == nullptr) return cu::kInvalidHandle;
  stream = *found;
  return stream->context->sticky;
}

std::shared_ptr<EventObject> find_event(Call& call, cu::Event handle) {
  const auto* found = find_in(call.process.events, to_number(handle));
  return found == nullptr ? nullptr : *found;
}

}  // namespace tidegate::sim
