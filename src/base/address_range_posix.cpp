#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "src/base/address_range.h"

namespace tidegate::base {
namespace {

Error no_memory(const char* what, Bytes bytes) {
  return {Errc::kHostOutOfMemory,
          std::string(what) + " " + std::to_string(bytes / kMiB) + " MiB of host memory: " + std::strerror(errno)};
}

}  // namespace

Bytes AddressRange::page_bytes() {
  static const Bytes page = static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  return page;
}

Result<AddressRange> AddressRange::reserve(Bytes bytes) {
  const Bytes size = round_up(bytes == 0 ? 1 : bytes, page_bytes());
  void* data = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return no_memory("cannot reserve the addresses of", size);
  return AddressRange(static_cast<std::byte*>(data), size);
}

Result<void> AddressRange::make_usable(Bytes offset, Bytes bytes) {
  const Bytes begin = round_down(offset, page_bytes());
  const Bytes end = round_up(offset + bytes, page_bytes());
  if (::mprotect(data_ + begin, end - begin, PROT_READ | PROT_WRITE) != 0) return no_memory("cannot get", end - begin);
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
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tidegate::base
