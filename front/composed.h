// Driver functions that follow from others: the table has the asynchronous ones, programs ask for all.
//
// All of them act on the current context; errors are the driver's own.
#pragma once

#include "src/driver/driver.h"

namespace tidegate::front {

// A copy that is over when it returns, in order with `stream`.
cu::Status copy_now(cu::DevicePtr dst, const void* src, std::size_t bytes, cu::Stream stream);
cu::Status copy_now(void* dst, cu::DevicePtr src, std::size_t bytes, cu::Stream stream);
// Between addresses of either kind. Host to host is done by the caller's thread, after the stream's earlier work.
cu::Status copy(cu::DevicePtr dst, cu::DevicePtr src, std::size_t bytes, cu::Stream stream);
cu::Status copy_any_now(cu::DevicePtr dst, cu::DevicePtr src, std::size_t bytes, cu::Stream stream);
// `count` elements of 16 or 32 bits.
cu::Status fill(cu::DevicePtr dst, unsigned short value, std::size_t count, cu::Stream stream);
cu::Status fill(cu::DevicePtr dst, unsigned value, std::size_t count, cu::Stream stream);
cu::Status record_with_flags(cu::Event event, cu::Stream stream, unsigned flags);

// CUpointer_attribute, those that are answered.
enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
  kPointerMapped = 13,
};
// Device memory only; anything else is kInvalidValue, as for memory that the driver does not know.
cu::Status pointer_attribute(void* data, PointerAttribute attribute, cu::DevicePtr ptr);

cu::Status load_module_file(cu::Module* module, const char* path);

}  // namespace tidegate::front
