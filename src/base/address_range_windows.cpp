#include <string>
#include <utility>

#include <windows.h>

#include "src/base/address_range.h"

namespace tidegate::base {
namespace {

Error no_memory(const char* what, Bytes bytes) {
  return {Errc::kHostOutOfMemory, std::string(what) + " " + std::to_string(bytes / kMiB) +
                                      " MiB of host memory: Windows error " + std::to_string(::GetLastError())};
}

}  // namespace

Bytes AddressRange::page_bytes() {
  SYSTEM_INFO info{};
  ::GetSystemInfo(&info);
  return info.dwPageSize;
}

Result<AddressRange> AddressRange::reserve(Bytes bytes) {
  const Bytes size = round_up(bytes == 0 ? 1 : bytes, page_bytes());
  void* data = ::VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS);
  if (data == nullptr) return no_memory("cannot reserve the addresses of", size);
  return AddressRange(static_cast<std::byte*>(data), size);
}

Result<void> AddressRange::make_usable(Bytes offset, Bytes bytes) {
  if (::VirtualAlloc(data_ + offset, bytes, MEM_COMMIT, PAGE_READWRITE) == nullptr)
    return no_memory("cannot get", bytes);
  return {};
}

AddressRange::AddressRange(AddressRange&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AddressRange::~AddressRange() {
  if (data_ != nullptr) ::VirtualFree(data_, 0, MEM_RELEASE);
}

}  // namespace tidegate::base
