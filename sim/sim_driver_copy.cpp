// Copies and fills.
#include "sim/sim_call.h"

namespace tidegate::sim {

namespace {

const Profile& profile_of(const Call& call, const Op& op) {
  return call.world.cards[static_cast<std::size_t>(op.stream->context->card)]->profile;
}

// What all of them begin with: a stream that takes work. False: `status` is the answer.
bool begin_work(Call& call, cu::Stream handle, std::shared_ptr<Stream>& stream, cu::Status& status) {
  status = find_stream(call, handle, stream);
  if (status != cu::kSuccess || captured(call, stream, status)) return false;
  status = queue_room(call, stream);
  return status == cu::kSuccess;
}

// A copy's device side. Addresses that are not mapped, or not accessible in that way, are refused at once (measured:
// driver 580); only kernels fault.
cu::Status resolve_copy(Call& call, Op& op, cu::DevicePtr begin, Bytes bytes, cu::MemAccessFlags need,
                        std::vector<Span>& spans) {
  cu::DevicePtr at = 0;
  const auto found = call.process.space.resolve(begin, bytes, op.stream->context->card, need, spans, at);
  return found == AddressSpace::Found::kOk ? cu::kSuccess : cu::kInvalidValue;
}

bool pinned(const Call& call, const void* begin, Bytes bytes) {
  return call.process.pinned.covers(begin, bytes) || call.world.declared.pinned(begin, bytes);
}

cu::Status wait_for(Call& call, const std::shared_ptr<Op>& op) {
  const std::shared_ptr<Context> context = call.process.contexts[op->stream->context->handle];
  if (!call.world.wait_until(call.process, [&] { return op->done; })) return cu::kDeinitialized;
  return context->sticky;
}

bool overlap(const std::vector<Span>& a, const std::vector<Span>& b) {
  for (const Span& x : a) {
    for (const Span& y : b) {
      if (&x.block() == &y.block() && x.offset < y.offset + y.length && y.offset < x.offset + x.length) return true;
    }
  }
  return false;
}

}  // namespace

cu::Status SimDriver::memcpy_htod_async(DevicePtr dst, const void* src, std::size_t bytes, Stream handle) {
  return run_call(
      world_, process_, Id::memcpy_htod_async, cost_of(world_, Id::memcpy_htod_async, bytes), [&](Call& call) {
        std::shared_ptr<sim::Stream> stream;
        cu::Status status = cu::kSuccess;
        if (bytes > 0 && src == nullptr) return cu::kInvalidValue;
        if (!begin_work(call, handle, stream, status) || bytes == 0) return status;
        const std::shared_ptr<Op> op = new_op(call, OpKind::kCopyH2D, stream);
        status = resolve_copy(call, *op, dst, bytes, cu::kAccessReadWrite, op->destination);
        if (status != cu::kSuccess) return status;
        const Profile& profile = profile_of(call, *op);
        const bool direct = pinned(call, src, bytes);
        op->engine = EngineKind::kH2D;
        op->duration = profile.copy_latency_ns +
                       Profile::transfer_ns(bytes, direct ? profile.h2d_gb_per_s : profile.pageable_h2d_gb_per_s);
        op->bytes = bytes;
        op->host_begin = src;
        if (world_.options.tags_from > 0 && bytes >= world_.options.tags_from) {
          const auto place = static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(src));
          op->host_source.push_back(
              {PieceKind::kTag, 0, static_cast<std::uint64_t>(process_.id()), place, nullptr, bytes});
        } else {
          world_.declared.pieces(src, bytes, op->host_source);
        }
        process_.counters.copied_h2d += bytes;
        submit(call, op);
        return direct ? cu::kSuccess : wait_for(call, op);
      });
}

cu::Status SimDriver::memcpy_dtoh_async(void* dst, DevicePtr src, std::size_t bytes, Stream handle) {
  return run_call(
      world_, process_, Id::memcpy_dtoh_async, cost_of(world_, Id::memcpy_dtoh_async, bytes), [&](Call& call) {
        std::shared_ptr<sim::Stream> stream;
        cu::Status status = cu::kSuccess;
        if (bytes > 0 && (dst == nullptr || world_.declared.touches_tag(dst, bytes))) return cu::kInvalidValue;
        if (!begin_work(call, handle, stream, status) || bytes == 0) return status;
        const std::shared_ptr<Op> op = new_op(call, OpKind::kCopyD2H, stream);
        status = resolve_copy(call, *op, src, bytes, cu::kAccessRead, op->source);
        if (status != cu::kSuccess) return status;
        const Profile& profile = profile_of(call, *op);
        const bool direct = pinned(call, dst, bytes);
        op->engine = EngineKind::kD2H;
        op->duration = profile.copy_latency_ns +
                       Profile::transfer_ns(bytes, direct ? profile.d2h_gb_per_s : profile.pageable_d2h_gb_per_s);
        op->bytes = bytes;
        op->host_begin = dst;
        op->host_destination = static_cast<unsigned char*>(dst);
        process_.counters.copied_d2h += bytes;
        submit(call, op);
        if (direct) return cu::kSuccess;
        // Documented: a copy to pageable memory returns once it is complete, so the host has seen all before it.
        const VectorClock seen = stream->clock;
        status = wait_for(call, op);
        if (status == cu::kSuccess) process_.observe(seen);
        return status;
      });
}

cu::Status SimDriver::memcpy_dtod_async(DevicePtr dst, DevicePtr src, std::size_t bytes, Stream handle) {
  return run_call(
      world_, process_, Id::memcpy_dtod_async, cost_of(world_, Id::memcpy_dtod_async, bytes), [&](Call& call) {
        std::shared_ptr<sim::Stream> stream;
        cu::Status status = cu::kSuccess;
        if (!begin_work(call, handle, stream, status) || bytes == 0) return status;
        const std::shared_ptr<Op> op = new_op(call, OpKind::kCopyD2D, stream);
        status = resolve_copy(call, *op, src, bytes, cu::kAccessRead, op->source);
        if (status == cu::kSuccess) status = resolve_copy(call, *op, dst, bytes, cu::kAccessReadWrite, op->destination);
        if (status != cu::kSuccess) return status;
        if (overlap(op->source, op->destination)) {
          world_.report(process_, "RACE", false, "copy-d2d whose source and destination overlap");
        }
        const Profile& profile = profile_of(call, *op);
        op->engine = EngineKind::kCompute;
        op->duration =
            profile.kernel_latency_ns + Profile::transfer_ns(2 * bytes, profile.vram_gb_per_s);  // read and written
        op->bytes = bytes;
        process_.counters.copied_d2d += bytes;
        submit(call, op);
        return cu::kSuccess;
      });
}

cu::Status SimDriver::memset_d8_async(DevicePtr dst, unsigned char value, std::size_t bytes, Stream handle) {
  return run_call(world_, process_, Id::memset_d8_async, cost_of(world_, Id::memset_d8_async, bytes), [&](Call& call) {
    std::shared_ptr<sim::Stream> stream;
    cu::Status status = cu::kSuccess;
    if (!begin_work(call, handle, stream, status) || bytes == 0) return status;
    const std::shared_ptr<Op> op = new_op(call, OpKind::kFill, stream);
    status = resolve_copy(call, *op, dst, bytes, cu::kAccessReadWrite, op->destination);
    if (status != cu::kSuccess) return status;
    const Profile& profile = profile_of(call, *op);
    op->engine = EngineKind::kCompute;
    op->duration = profile.kernel_latency_ns + Profile::transfer_ns(bytes, profile.vram_gb_per_s);
    op->bytes = bytes;
    op->fill = value;
    submit(call, op);
    return cu::kSuccess;
  });
}

}  // namespace tidegate::sim
