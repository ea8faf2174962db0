#include "front/composed.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "front/front.h"

namespace tidegate::front {
namespace {

bool on_device(cu::DevicePtr ptr) { return driver().mem_get_address_range(nullptr, nullptr, ptr) == cu::kSuccess; }

void* host(cu::DevicePtr ptr) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(ptr)); }  // NOLINT

// The copy from pageable memory has read its source when it returns, so the pattern may go at once.
template <typename Element>
cu::Status fill_with(cu::DevicePtr dst, Element value, std::size_t count, cu::Stream stream) {
  if (dst % sizeof value != 0) return cu::kInvalidValue;
  constexpr std::size_t kPiece = (std::size_t{4} << 20) / sizeof value;
  const std::vector<Element> pattern(count < kPiece ? count : kPiece, value);
  for (std::size_t done = 0; done < count; done += pattern.size()) {
    const std::size_t now = count - done < pattern.size() ? count - done : pattern.size();
    const cu::Status status =
        driver().memcpy_htod_async(dst + done * sizeof value, pattern.data(), now * sizeof value, stream);
    if (status != cu::kSuccess) return status;
  }
  return cu::kSuccess;
}

}  // namespace

cu::Status copy_now(cu::DevicePtr dst, const void* src, std::size_t bytes, cu::Stream stream) {
  const cu::Status status = driver().memcpy_htod_async(dst, src, bytes, stream);
  return status == cu::kSuccess ? driver().stream_synchronize(stream) : status;
}

cu::Status copy_now(void* dst, cu::DevicePtr src, std::size_t bytes, cu::Stream stream) {
  const cu::Status status = driver().memcpy_dtoh_async(dst, src, bytes, stream);
  return status == cu::kSuccess ? driver().stream_synchronize(stream) : status;
}

cu::Status copy(cu::DevicePtr dst, cu::DevicePtr src, std::size_t bytes, cu::Stream stream) {
  const bool to_device = on_device(dst);
  const bool from_device = on_device(src);
  if (to_device && from_device) return driver().memcpy_dtod_async(dst, src, bytes, stream);
  if (to_device) return driver().memcpy_htod_async(dst, host(src), bytes, stream);
  if (from_device) return driver().memcpy_dtoh_async(host(dst), src, bytes, stream);
  const cu::Status status = driver().stream_synchronize(stream);
  if (status == cu::kSuccess) std::memmove(host(dst), host(src), bytes);
  return status;
}

cu::Status copy_any_now(cu::DevicePtr dst, cu::DevicePtr src, std::size_t bytes, cu::Stream stream) {
  const cu::Status status = copy(dst, src, bytes, stream);
  return status == cu::kSuccess ? driver().stream_synchronize(stream) : status;
}

cu::Status fill(cu::DevicePtr dst, unsigned short value, std::size_t count, cu::Stream stream) {
  return fill_with(dst, value, count, stream);
}
cu::Status fill(cu::DevicePtr dst, unsigned value, std::size_t count, cu::Stream stream) {
  return fill_with(dst, value, count, stream);
}

cu::Status record_with_flags(cu::Event event, cu::Stream stream, unsigned flags) {
  return flags == 0 ? driver().event_record(event, stream) : cu::kNotSupported;  // 1: records as a graph's node
}

cu::Status pointer_attribute(void* data, PointerAttribute attribute, cu::DevicePtr ptr) {
  if (data == nullptr) return cu::kInvalidValue;
  cu::DevicePtr base = 0;
  std::size_t bytes = 0;
  if (driver().mem_get_address_range(&base, &bytes, ptr) != cu::kSuccess) return cu::kInvalidValue;
  switch (attribute) {
    case kPointerContext:
      return driver().ctx_get_current(static_cast<cu::Context*>(data));
    case kPointerMemoryType: {
      constexpr unsigned kDeviceMemory = 2;  // CU_MEMORYTYPE_DEVICE
      std::memcpy(data, &kDeviceMemory, sizeof kDeviceMemory);
      return cu::kSuccess;
    }
    case kPointerDevicePointer:
      std::memcpy(data, &ptr, sizeof ptr);
      return cu::kSuccess;
    case kPointerIsManaged:
    case kPointerMapped: {
      const unsigned value = attribute == kPointerMapped ? 1 : 0;
      std::memcpy(data, &value, sizeof value);
      return cu::kSuccess;
    }
    case kPointerDeviceOrdinal:
      return driver().ctx_get_device(static_cast<cu::Device*>(data));
    case kPointerRangeStart:
      std::memcpy(data, &base, sizeof base);
      return cu::kSuccess;
    case kPointerRangeSize:
      std::memcpy(data, &bytes, sizeof bytes);
      return cu::kSuccess;
  }
  return cu::kNotSupported;
}

cu::Status load_module_file(cu::Module* module, const char* path) {
  if (path == nullptr) return cu::kInvalidValue;
  std::ifstream file(path, std::ios::binary);
  if (!file) return cu::kFileNotFound;
  const std::string image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return driver().module_load_data(module, image.c_str());
}

}  // namespace tidegate::front
