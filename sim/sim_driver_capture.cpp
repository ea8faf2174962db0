// Stream capture: operations are counted instead of run; what is not allowed meanwhile destroys the capture.
#include <algorithm>

#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

constexpr auto kStreamCaptureUnjoined = static_cast<cu::Status>(904);
constexpr auto kStreamCaptureIsolation = static_cast<cu::Status>(905);
constexpr auto kStreamCaptureWrongThread = static_cast<cu::Status>(908);

std::uint32_t member_index(const Capture& capture, const Stream& stream) {
  for (std::uint32_t i = 0; i < capture.members.size(); ++i) {
    if (capture.members[i].get() == &stream) return i;
  }
  return 0;
}

void add_node(Capture& capture, const Stream& stream) {
  const std::uint32_t index = member_index(capture, stream);
  ++capture.nodes;
  capture.clocks[index].raise({index, capture.clocks[index].at(index) + 1});
}

// An operation on the default stream would wait for every blocking stream, a capturing one too.
bool refused_for_default_stream(Call& call, const Stream& stream, cu::Status& status) {
  if (stream.handle != 0) return false;
  bool refused = false;
  for (const auto& [id, capture] : call.process.captures) {
    for (const auto& member : capture->members) {
      if (member->context != stream.context || !member->blocking) continue;
      invalidate(*capture);
      refused = true;
    }
  }
  status = cu::kStreamCaptureImplicit;
  return refused;
}

}  // namespace

void invalidate(Capture& capture) { capture.invalidated = true; }

std::shared_ptr<Capture> capture_of(Call& call, const Stream& stream) {
  if (stream.capture == 0) return nullptr;
  const auto* found = find_in(call.process.captures, stream.capture);
  return found == nullptr ? nullptr : *found;
}

bool captured(Call& call, const std::shared_ptr<Stream>& stream, cu::Status& status) {
  if (call.process.captures.empty()) return false;
  if (refused_for_default_stream(call, *stream, status)) return true;
  const std::shared_ptr<Capture> capture = capture_of(call, *stream);
  if (capture == nullptr) return false;
  if (call.id == Id::stream_query || call.id == Id::stream_synchronize) {
    invalidate(*capture);
    status = cu::kStreamCaptureUnsupported;
    return true;
  }
  status = capture->invalidated ? cu::kStreamCaptureInvalidated : cu::kSuccess;
  if (status == cu::kSuccess) add_node(*capture, *stream);
  return true;
}

bool record_in_capture(Call& call, const std::shared_ptr<Stream>& stream, EventObject& event, cu::Status& status) {
  if (call.process.captures.empty()) return false;
  if (refused_for_default_stream(call, *stream, status)) return true;
  const std::shared_ptr<Capture> capture = capture_of(call, *stream);
  if (capture == nullptr) return false;
  status = capture->invalidated ? cu::kStreamCaptureInvalidated : cu::kSuccess;
  if (status != cu::kSuccess) return true;
  event.capture = stream->capture;
  event.capture_clock = capture->clocks[member_index(*capture, *stream)];
  return true;
}

bool wait_in_capture(Call& call, const std::shared_ptr<Stream>& stream, const EventObject& event, cu::Status& status) {
  if (call.process.captures.empty()) return false;
  if (refused_for_default_stream(call, *stream, status)) return true;
  std::shared_ptr<Capture> capture = capture_of(call, *stream);
  const auto* source = event.capture == 0 ? nullptr : find_in(call.process.captures, event.capture);
  if (source == nullptr) {
    if (capture == nullptr || event.record == nullptr) return false;  // never recorded: waits for nothing, here too
    // The capture would depend on work outside of it.
    invalidate(*capture);
    status = kStreamCaptureIsolation;
    return true;
  }
  if (capture != nullptr && capture != *source) {
    invalidate(*capture);
    invalidate(**source);
    status = static_cast<cu::Status>(902);  // two captures would merge
    return true;
  }
  if ((*source)->invalidated) {
    status = cu::kStreamCaptureInvalidated;
    return true;
  }
  if (capture == nullptr) {
    if (stream->handle == 0) {
      status = cu::kStreamCaptureImplicit;
      return true;
    }
    capture = *source;
    stream->capture = event.capture;
    capture->members.push_back(stream);
    capture->clocks.emplace_back();
  }
  capture->clocks[member_index(*capture, *stream)].join(event.capture_clock);
  status = cu::kSuccess;
  return true;
}

cu::Status SimDriver::stream_begin_capture(Stream handle, CaptureMode mode) {
  return run_call(world_, process_, Id::stream_begin_capture, cost_of(world_, Id::stream_begin_capture, 0),
                  [&](Call& call) {
                    if (mode < cu::kCaptureGlobal || mode > cu::kCaptureRelaxed) return cu::kInvalidValue;
                    std::shared_ptr<sim::Stream> stream;
                    const cu::Status status = find_stream(call, handle, stream);
                    if (status != cu::kSuccess) return status;
                    if (stream->handle == 0) return cu::kStreamCaptureUnsupported;
                    if (stream->capture != 0) return cu::kIllegalState;
                    auto capture = std::make_shared<Capture>();
                    capture->origin = stream->handle;
                    capture->thread = call.thread_id;
                    capture->mode = mode;
                    capture->members.push_back(stream);
                    capture->clocks.emplace_back();
                    stream->capture = process_.new_handle();
                    process_.captures[stream->capture] = std::move(capture);
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::stream_end_capture(Stream handle, Graph* graph) {
  return run_call(world_, process_, Id::stream_end_capture, cost_of(world_, Id::stream_end_capture, 0),
                  [&](Call& call) {
                    if (graph == nullptr) return cu::kInvalidValue;
                    std::shared_ptr<sim::Stream> stream;
                    const cu::Status status = find_stream(call, handle, stream);
                    if (status != cu::kSuccess) return status;
                    const std::shared_ptr<Capture> capture = capture_of(call, *stream);
                    if (capture == nullptr) return cu::kIllegalState;
                    if (capture->origin != stream->handle) return cu::kStreamCaptureUnmatched;
                    if (capture->mode != cu::kCaptureRelaxed && capture->thread != call.thread_id)
                      return kStreamCaptureWrongThread;
                    bool joined = true;
                    for (std::uint32_t i = 0; i < capture->members.size(); ++i) {
                      joined = joined && capture->clocks[0].at(i) >= capture->clocks[i].at(i);
                    }
                    process_.captures.erase(stream->capture);
                    for (const auto& member : capture->members) member->capture = 0;
                    *graph = nullptr;
                    if (capture->invalidated) return cu::kStreamCaptureInvalidated;
                    if (!joined) return kStreamCaptureUnjoined;
                    const std::uint64_t number = process_.new_handle();
                    process_.graphs[number] = capture->nodes;
                    *graph = to_handle<cu::Graph>(number);
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::stream_is_capturing(Stream handle, CaptureStatus* capture_status) {
  return run_call(world_, process_, Id::stream_is_capturing, cost_of(world_, Id::stream_is_capturing, 0),
                  [&](Call& call) {
                    if (capture_status == nullptr) return cu::kInvalidValue;
                    std::shared_ptr<sim::Stream> stream;
                    const cu::Status status = find_stream(call, handle, stream);
                    if (status != cu::kSuccess) return status;
                    if (stream->handle == 0) {
                      for (const auto& [id, capture] : process_.captures) {
                        for (const auto& member : capture->members) {
                          if (member->context == stream->context && member->blocking) return cu::kStreamCaptureImplicit;
                        }
                      }
                    }
                    const std::shared_ptr<Capture> capture = capture_of(call, *stream);
                    *capture_status = capture == nullptr     ? cu::kCaptureNone
                                      : capture->invalidated ? cu::kCaptureInvalidated
                                                             : cu::kCaptureActive;
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::thread_exchange_stream_capture_mode(CaptureMode* mode) {
  return run_call(world_, process_, Id::thread_exchange_stream_capture_mode,
                  cost_of(world_, Id::thread_exchange_stream_capture_mode, 0), [&](Call& call) {
                    if (mode == nullptr || *mode < cu::kCaptureGlobal || *mode > cu::kCaptureRelaxed) {
                      return cu::kInvalidValue;
                    }
                    std::swap(*mode, call.thread.capture_mode);
                    return cu::kSuccess;
                  });
}

cu::Status SimDriver::graph_destroy(Graph graph) {
  return run_call(world_, process_, Id::graph_destroy, cost_of(world_, Id::graph_destroy, 0), [&](Call&) {
    return process_.graphs.erase(to_number(graph)) > 0 ? cu::kSuccess : cu::kInvalidValue;
  });
}

}  // namespace tidegate::sim
