#include "tidegate/sim_view.h"

#include "front/front.h"
#include "sim/backend.h"

TG_FRONT_API int tidegate_sim_map(std::uint64_t address, std::size_t bytes, const void** host) {
  using namespace tidegate;  // NOLINT: a function of C
  sim::Backend* const backend = front::backend();
  if (host == nullptr || bytes == 0) return cu::kInvalidValue;
  if (backend == nullptr) return cu::kNotInitialized;
  const auto mapped = backend->map_bytes(address, bytes);
  if (mapped) {
    *host = mapped.value();
    return cu::kSuccess;
  }
  switch (mapped.error().code) {
    case Errc::kInvalidArgument:
      return cu::kInvalidValue;
    case Errc::kClosed:
      return cu::kDeinitialized;
    default:
      return cu::kNotSupported;
  }
}

TG_FRONT_API std::int64_t tidegate_sim_now() {
  tidegate::sim::Backend* const backend = tidegate::front::backend();
  if (backend == nullptr) return -1;
  const auto now = backend->now();
  return now ? now.value() : -1;
}

TG_FRONT_API void tidegate_sim_unmap(const void* host) {
  if (tidegate::sim::Backend* const backend = tidegate::front::backend()) backend->unmap_bytes(host);
}
