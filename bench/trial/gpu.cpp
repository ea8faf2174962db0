#include "bench/trial/gpu.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "src/driver/errors.h"

namespace tidegate::trial {

void fail(const char* what, const char* why) {
  std::fprintf(stderr, "aimdo_host: %s: %s\n", what, why);
  std::exit(1);
}

Gpu::Gpu(std::unique_ptr<Card> card) : card_(std::move(card)), cuda_(card_->driver()) {
  if (auto current = card_->make_current(); !current) fail("the card", current.error().message.c_str());
  auto kernels = driver::CheckKernels::load(cuda_);
  if (!kernels) fail("kernels", kernels.error().message.c_str());
  kernels_ = kernels.value();
  must(cuda_.device_get_default_mem_pool(&pool_, card_->device()), "cuDeviceGetDefaultMemPool");
  // As PyTorch's backend cudaMallocAsync does: a synchronise gives nothing back.
  std::uint64_t threshold = ~std::uint64_t{0};
  must(cuda_.mem_pool_set_attribute(pool_, driver::kPoolReleaseThreshold, &threshold), "cuMemPoolSetAttribute");
  for (driver::Stream& stream : offload_) {
    must(cuda_.stream_create(&stream, driver::kStreamNonBlocking), "cuStreamCreate");
  }
  must(cuda_.event_create(&event_, driver::kEventDisableTiming), "cuEventCreate");
}

Gpu::~Gpu() {
  (void)cuda_.ctx_synchronize();
  (void)cuda_.event_destroy(event_);
  for (const driver::Stream stream : offload_) (void)cuda_.stream_destroy(stream);
  (void)kernels_.unload(cuda_);
}

driver::Stream Gpu::next_offload_stream() {
  wait_stream(offload_[last_], compute());
  last_ = (last_ + 1) % offload_.size();
  return offload_[last_];
}

void Gpu::wait_stream(driver::Stream waiter, driver::Stream on) {
  must(cuda_.event_record(event_, on), "cuEventRecord");
  must(cuda_.stream_wait_event(waiter, event_, 0), "cuStreamWaitEvent");
}

void Gpu::synchronize_offload() {
  for (const driver::Stream stream : offload_) must(cuda_.stream_synchronize(stream), "cuStreamSynchronize");
}

driver::DevicePtr Gpu::allocate(Bytes bytes, driver::Stream stream) {
  driver::DevicePtr at = 0;
  const driver::Status status = cuda_.mem_alloc_async(&at, bytes, stream);
  if (status == driver::kOutOfMemory) {
    ++out_of_memory_;
    return 0;
  }
  must(status, "cuMemAllocAsync");
  return at;
}

void Gpu::free(driver::DevicePtr at, driver::Stream stream) {
  if (at != 0) must(cuda_.mem_free_async(at, stream), "cuMemFreeAsync");
}

void Gpu::copy(driver::DevicePtr to, const void* from, Bytes bytes, driver::Stream stream) {
  must(cuda_.memcpy_htod_async(to, from, bytes, stream), "cuMemcpyHtoDAsync");
}

void Gpu::work(driver::DevicePtr at, Bytes bytes, std::uint64_t ns) {
  must(kernels_.launch_work(cuda_, at, bytes, ns, compute()), "cuLaunchKernel");
}

void Gpu::synchronize_compute() { must(cuda_.stream_synchronize(compute()), "cuStreamSynchronize"); }

void Gpu::empty_cache() {
  must(cuda_.ctx_synchronize(), "cuCtxSynchronize");
  must(cuda_.mem_pool_trim_to(pool_, 0), "cuMemPoolTrimTo");
}

Bytes Gpu::free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  must(cuda_.mem_get_info(&free, &total), "cuMemGetInfo");
  return free;
}

void Gpu::must(driver::Status status, const char* what) {
  if (status == driver::kSuccess) return;
  fail(what, driver::driver_error(cuda_, status, what).message.c_str());
}

void Temporaries::add(Bytes bytes) {
  live_.push_back(bytes == 0 ? 0 : gpu_.allocate(bytes, gpu_.compute()));
  if (live_.size() <= 2) return;
  gpu_.free(live_.front(), gpu_.compute());
  live_.pop_front();
}

void Temporaries::clear() {
  for (const driver::DevicePtr at : live_) gpu_.free(at, gpu_.compute());
  live_.clear();
}

}  // namespace tidegate::trial
