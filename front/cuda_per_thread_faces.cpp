// The flavours for which the null stream is the calling thread's own.
#include "front/composed.h"
#include "front/face.h"

namespace tidegate::front {

using namespace tidegate::cu;  // NOLINT: the table speaks the driver's own types

// X(exported symbol, (parameters), call)
// clang-format off
#define TG_PER_THREAD(X) \
  X(htod_async, "cuMemcpyHtoDAsync_v2_ptsz", (DevicePtr dst, const void* src, std::size_t bytes, Stream stream), driver().memcpy_htod_async(dst, src, bytes, own(stream))) \
  X(dtoh_async, "cuMemcpyDtoHAsync_v2_ptsz", (void* dst, DevicePtr src, std::size_t bytes, Stream stream), driver().memcpy_dtoh_async(dst, src, bytes, own(stream))) \
  X(dtod_async, "cuMemcpyDtoDAsync_v2_ptsz", (DevicePtr dst, DevicePtr src, std::size_t bytes, Stream stream), driver().memcpy_dtod_async(dst, src, bytes, own(stream))) \
  X(copy_async, "cuMemcpyAsync_ptsz", (DevicePtr dst, DevicePtr src, std::size_t bytes, Stream stream), copy(dst, src, bytes, own(stream))) \
  X(set_async, "cuMemsetD8Async_ptsz", (DevicePtr dst, unsigned char value, std::size_t bytes, Stream stream), driver().memset_d8_async(dst, value, bytes, own(stream))) \
  X(set16_async, "cuMemsetD16Async_ptsz", (DevicePtr dst, unsigned short value, std::size_t count, Stream stream), fill(dst, value, count, own(stream))) \
  X(set32_async, "cuMemsetD32Async_ptsz", (DevicePtr dst, unsigned value, std::size_t count, Stream stream), fill(dst, value, count, own(stream))) \
  X(htod, "cuMemcpyHtoD_v2_ptds", (DevicePtr dst, const void* src, std::size_t bytes), copy_now(dst, src, bytes, own(nullptr))) \
  X(dtoh, "cuMemcpyDtoH_v2_ptds", (void* dst, DevicePtr src, std::size_t bytes), copy_now(dst, src, bytes, own(nullptr))) \
  X(dtod, "cuMemcpyDtoD_v2_ptds", (DevicePtr dst, DevicePtr src, std::size_t bytes), driver().memcpy_dtod_async(dst, src, bytes, own(nullptr))) \
  X(any, "cuMemcpy_ptds", (DevicePtr dst, DevicePtr src, std::size_t bytes), copy_any_now(dst, src, bytes, own(nullptr))) \
  X(set, "cuMemsetD8_v2_ptds", (DevicePtr dst, unsigned char value, std::size_t bytes), driver().memset_d8_async(dst, value, bytes, own(nullptr))) \
  X(query, "cuStreamQuery_ptsz", (Stream stream), driver().stream_query(own(stream))) \
  X(synchronize, "cuStreamSynchronize_ptsz", (Stream stream), driver().stream_synchronize(own(stream))) \
  X(wait_event, "cuStreamWaitEvent_ptsz", (Stream stream, Event event, unsigned flags), driver().stream_wait_event(own(stream), event, flags)) \
  X(is_capturing, "cuStreamIsCapturing_ptsz", (Stream stream, CaptureStatus* status), driver().stream_is_capturing(own(stream), status)) \
  X(begin_capture, "cuStreamBeginCapture_v2_ptsz", (Stream stream, CaptureMode mode), driver().stream_begin_capture(own(stream), mode)) \
  X(end_capture, "cuStreamEndCapture_ptsz", (Stream stream, Graph* graph), driver().stream_end_capture(own(stream), graph)) \
  X(record, "cuEventRecord_ptsz", (Event event, Stream stream), driver().event_record(event, own(stream))) \
  X(record_flags, "cuEventRecordWithFlags_ptsz", (Event event, Stream stream, unsigned flags), record_with_flags(event, own(stream), flags)) \
  X(alloc_async, "cuMemAllocAsync_ptsz", (DevicePtr* ptr, std::size_t bytes, Stream stream), driver().mem_alloc_async(ptr, bytes, own(stream))) \
  X(alloc_from_pool, "cuMemAllocFromPoolAsync_ptsz", (DevicePtr* ptr, std::size_t bytes, MemPool pool, Stream stream), driver().mem_alloc_from_pool_async(ptr, bytes, pool, own(stream))) \
  X(free_async, "cuMemFreeAsync_ptsz", (DevicePtr ptr, Stream stream), driver().mem_free_async(ptr, own(stream))) \
  X(launch, "cuLaunchKernel_ptsz", (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** params, void** extra), driver().launch_kernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, own(stream), params, extra))
// clang-format on

#define TG_DEFINE(name, symbol, parameters, call)              \
  TG_FACE Status per_thread_##name parameters __asm__(symbol); \
  TG_FACE Status per_thread_##name parameters { return call; }
TG_PER_THREAD(TG_DEFINE)
#undef TG_DEFINE

}  // namespace tidegate::front
