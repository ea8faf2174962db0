// Address space without memory behind it, parts of which are made usable; address_range_posix.cpp and _windows.cpp.
#pragma once

#include <cstddef>

#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::base {

// Move-only. Reading or writing outside the usable parts ends the process, as a wild pointer should.
class AddressRange {
 public:
  // `bytes` is rounded up to whole pages. Errors: kHostOutOfMemory.
  static Result<AddressRange> reserve(Bytes bytes);
  static Bytes page_bytes();

  AddressRange() = default;
  AddressRange(AddressRange&& other) noexcept;
  AddressRange& operator=(AddressRange&& other) noexcept;
  ~AddressRange();

  // Makes the pages of [offset, offset + bytes) readable and writable, zeroed at first. Errors: kHostOutOfMemory.
  Result<void> make_usable(Bytes offset, Bytes bytes);

  std::byte* data() const { return data_; }
  Bytes size() const { return size_; }

 private:
  AddressRange(std::byte* data, Bytes size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  Bytes size_ = 0;
};

}  // namespace tidegate::base
