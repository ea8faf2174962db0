// What Windows would say of the card: to CUDA programs, and under Tidegate's own names.
#include <cstring>

#include "front/front.h"
#include "sim/backend.h"
#include "tidegate/sim_view.h"

namespace tidegate::front {

cu::Status device_luid(char* luid, unsigned* node_mask, cu::Device device) {
  if (luid == nullptr || node_mask == nullptr) return cu::kInvalidValue;
  int cards = 0;
  if (const cu::Status status = driver().device_get_count(&cards); status != cu::kSuccess) return status;
  if (device < 0 || device >= cards) return cu::kInvalidDevice;
  sim::win::AdapterDescription description;
  if (backend() == nullptr || !backend()->describe_adapter(device, &description)) return cu::kNotSupported;
  std::memcpy(luid, &description.luid, sizeof description.luid);
  *node_mask = 1;
  return cu::kSuccess;
}

}  // namespace tidegate::front

TG_FRONT_API std::int32_t tidegate_sim_query_statistics(void* query) {
  using namespace tidegate;  // NOLINT: a function of C
  sim::Backend* const backend = front::backend();
  if (backend == nullptr) return sim::win::kStatusNotSupported;
  return backend->query_statistics(static_cast<sim::win::QueryStatistics*>(query));
}

TG_FRONT_API std::int32_t tidegate_sim_query_video_memory_info(std::uint32_t adapter, std::uint32_t node,
                                                               std::uint32_t segment_group, void* info) {
  using namespace tidegate;  // NOLINT: a function of C
  sim::Backend* const backend = front::backend();
  if (backend == nullptr || adapter > 64) return sim::win::kUnsupported;
  return backend->query_video_memory_info(static_cast<int>(adapter), node,
                                          static_cast<sim::win::SegmentGroup>(segment_group),
                                          static_cast<sim::win::QueryVideoMemoryInfo*>(info));
}
