// Streams and events.
#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

cu::Status create_stream(World& world, Process& process, Id id, cu::Stream* handle, unsigned flags) {
  return run_call(world, process, id, cost_of(world, id, 0), [&](Call& call) {
    if (handle == nullptr || flags > cu::kStreamNonBlocking) return cu::kInvalidValue;
    *handle = to_handle<cu::Stream>(add_stream(process, *call.context, flags == cu::kStreamDefault)->handle);
    return cu::kSuccess;
  });
}

// The state of an event's latest record. Null: nothing to wait for.
cu::Status event_record_of(Call& call, cu::Event handle, std::shared_ptr<Op>& record) {
  const std::shared_ptr<EventObject> event = find_event(call, handle);
  if (event == nullptr) return cu::kInvalidHandle;
  if (event->capture != 0) {
    const auto* capture = find_in(call.process.captures, event->capture);
    if (capture != nullptr) invalidate(**capture);
    return cu::kCapturedEvent;
  }
  record = event->record;
  if (record == nullptr) return cu::kSuccess;
  return record->stream->context->sticky;
}

}  // namespace

cu::Status SimDriver::stream_create(Stream* stream, unsigned flags) {
  return create_stream(world_, process_, Id::stream_create, stream, flags);
}

cu::Status SimDriver::stream_create_with_priority(Stream* stream, unsigned flags, int) {
  return create_stream(world_, process_, Id::stream_create_with_priority, stream, flags);
}

cu::Status SimDriver::stream_destroy(Stream handle) {
  return run_call(world_, process_, Id::stream_destroy, cost_of(world_, Id::stream_destroy, 0), [&](Call& call) {
    const auto* found = find_in(process_.streams, to_number(handle));
    if (found == nullptr) return cu::kInvalidHandle;
    const std::shared_ptr<sim::Stream> stream = *found;
    if (const std::shared_ptr<Capture> capture = capture_of(call, *stream)) {
      invalidate(*capture);
    }
    stream->destroyed = true;  // what is pending finishes; the context's list keeps it until then
    process_.streams.erase(stream->handle);
    prune_streams(process_, *stream->context);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::stream_query(Stream handle) {
  return run_call(world_, process_, Id::stream_query, cost_of(world_, Id::stream_query, 0), [&](Call& call) {
    std::shared_ptr<sim::Stream> stream;
    cu::Status status = find_stream(call, handle, stream);
    if (status != cu::kSuccess) return status;
    if (captured(call, stream, status)) return status;
    if (!stream->pending.empty()) return cu::kNotReady;
    if (stream->handle == 0) {
      for (const auto& other : stream->context->streams) {
        if (other->blocking && !other->pending.empty()) return cu::kNotReady;
      }
      for (const auto& other : stream->context->streams) {
        if (other->blocking) observe_stream(process_, *other);
      }
    }
    observe_stream(process_, *stream);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::stream_synchronize(Stream handle) {
  return run_call(world_, process_, Id::stream_synchronize, cost_of(world_, Id::stream_synchronize, 0),
                  [&](Call& call) {
                    std::shared_ptr<sim::Stream> stream;
                    cu::Status status = find_stream(call, handle, stream);
                    if (status != cu::kSuccess) return status;
                    if (captured(call, stream, status)) return status;
                    const std::shared_ptr<sim::Context> context = process_.contexts[stream->context->handle];
                    // What is submitted while we wait does not count: wait for what is the last operation now.
                    std::vector<std::shared_ptr<Op>> last;
                    if (!stream->pending.empty()) last.push_back(stream->pending.back());
                    VectorClock seen = stream->clock;
                    if (stream->handle == 0) {
                      for (const auto& other : context->streams) {
                        if (!other->blocking) continue;
                        seen.join(other->clock);
                        if (!other->pending.empty()) last.push_back(other->pending.back());
                      }
                    }
                    const bool alive = world_.wait_until(process_, [&] {
                      std::erase_if(last, [](const auto& op) { return op->done; });
                      return last.empty();
                    });
                    if (!alive) return cu::kDeinitialized;
                    if (context->sticky != cu::kSuccess) return context->sticky;
                    process_.observe(seen);
                    trim_pools(call, context->card);
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::stream_wait_event(Stream handle, Event event_handle, unsigned flags) {
  return run_call(world_, process_, Id::stream_wait_event, cost_of(world_, Id::stream_wait_event, 0), [&](Call& call) {
    if (flags > 1) return cu::kInvalidValue;
    std::shared_ptr<sim::Stream> stream;
    cu::Status status = find_stream(call, handle, stream);
    if (status != cu::kSuccess) return status;
    if (find_event(call, event_handle) == nullptr) return cu::kInvalidHandle;
    status = queue_room(call, stream);
    if (status != cu::kSuccess) return status;
    const std::shared_ptr<EventObject> event = find_event(call, event_handle);
    if (event == nullptr) return cu::kInvalidHandle;
    if (wait_in_capture(call, stream, *event, status)) return status;
    if (event->record == nullptr) {
      world_.report(process_, "NEVER-RECORDED", false,
                    "stream " + std::to_string(stream->handle) + " waits for event " +
                        std::to_string(to_number(event_handle)) + ", which was never recorded: it waits for nothing");
      return cu::kSuccess;
    }
    submit(call, new_op(call, OpKind::kWait, stream), event->record);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::event_create(Event* event, unsigned flags) {
  return run_call(world_, process_, Id::event_create, cost_of(world_, Id::event_create, 0), [&](Call& call) {
    constexpr unsigned kInterprocess = 4;
    if (event == nullptr || flags > 7 || (flags & kInterprocess) != 0) return cu::kInvalidValue;
    auto made = std::make_shared<EventObject>();
    made->context = call.context->handle;
    made->timing = (flags & cu::kEventDisableTiming) == 0;
    const std::uint64_t handle = process_.new_handle();
    process_.events[handle] = std::move(made);
    *event = to_handle<cu::Event>(handle);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::event_destroy(Event event) {
  return run_call(world_, process_, Id::event_destroy, cost_of(world_, Id::event_destroy, 0), [&](Call&) {
    return process_.events.erase(to_number(event)) > 0 ? cu::kSuccess : cu::kInvalidHandle;
  });
}

cu::Status SimDriver::event_record(Event event_handle, Stream handle) {
  return run_call(world_, process_, Id::event_record, cost_of(world_, Id::event_record, 0), [&](Call& call) {
    std::shared_ptr<sim::Stream> stream;
    cu::Status status = find_stream(call, handle, stream);
    if (status != cu::kSuccess) return status;
    if (find_event(call, event_handle) == nullptr) return cu::kInvalidHandle;
    status = queue_room(call, stream);
    if (status != cu::kSuccess) return status;
    const std::shared_ptr<EventObject> event = find_event(call, event_handle);
    if (event == nullptr || event->context != stream->context->handle) return cu::kInvalidHandle;
    if (record_in_capture(call, stream, *event, status)) return status;
    event->capture = 0;
    event->record = new_op(call, OpKind::kRecord, stream);
    submit(call, event->record);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::event_query(Event event) {
  return run_call(world_, process_, Id::event_query, cost_of(world_, Id::event_query, 0), [&](Call& call) {
    std::shared_ptr<Op> record;
    const cu::Status status = event_record_of(call, event, record);
    if (status != cu::kSuccess || record == nullptr) return status;
    if (!record->done) return cu::kNotReady;
    process_.observe(record->clock);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::event_synchronize(Event event) {
  return run_call(world_, process_, Id::event_synchronize, cost_of(world_, Id::event_synchronize, 0), [&](Call& call) {
    std::shared_ptr<Op> record;
    const cu::Status status = event_record_of(call, event, record);
    if (status != cu::kSuccess || record == nullptr) return status;
    const std::shared_ptr<sim::Context> context = process_.contexts[record->stream->context->handle];
    if (!world_.wait_until(process_, [&] { return record->done; })) return cu::kDeinitialized;
    if (context->sticky != cu::kSuccess) return context->sticky;
    process_.observe(record->clock);
    trim_pools(call, context->card);
    return cu::kSuccess;
  });
}

cu::Status SimDriver::event_elapsed_time(float* milliseconds, Event start, Event end) {
  return run_call(
      world_, process_, Id::event_elapsed_time, cost_of(world_, Id::event_elapsed_time, 0), [&](Call& call) {
        if (milliseconds == nullptr) return cu::kInvalidValue;
        const std::shared_ptr<EventObject> first = find_event(call, start);
        const std::shared_ptr<EventObject> second = find_event(call, end);
        if (first == nullptr || second == nullptr || !first->timing || !second->timing) return cu::kInvalidHandle;
        if (first->record == nullptr || second->record == nullptr) return cu::kInvalidHandle;
        if (!first->record->done || !second->record->done) return cu::kNotReady;
        *milliseconds =
            static_cast<float>(static_cast<double>(second->record->finished_at - first->record->finished_at) / 1e6);
        return cu::kSuccess;
      });
}

}  // namespace tidegate::sim
