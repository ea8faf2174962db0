#include "sim/backing.h"

#include <cstdlib>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#define TG_SIM_MMAP 1
#if defined(__linux__)
#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#endif

namespace tidegate::sim {

Backing::~Backing() {
  if (data_ == nullptr) return;
#ifdef TG_SIM_MMAP
  munmap(data_, size_);
#if defined(__linux__)
  if (file_ >= 0) ::close(file_);
#endif
#else
  std::free(data_);
#endif
}

unsigned char* Backing::ensure(Bytes size) {
  if (data_ != nullptr || size == 0) return data_;
#ifdef TG_SIM_MMAP
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  data_ = mapped == MAP_FAILED ? nullptr : static_cast<unsigned char*>(mapped);
#else
  data_ = static_cast<unsigned char*>(std::calloc(static_cast<std::size_t>(size), 1));
#endif
  if (data_ != nullptr) size_ = size;
  return data_;
}

int Backing::share(Bytes size) {
  if (file_ >= 0 || ensure(size) == nullptr) return file_;
#if defined(__linux__)
  const int file = ::memfd_create("tidegate-device", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  bool done = file >= 0 && ::ftruncate(file, static_cast<off_t>(size_)) == 0;
  static constexpr Bytes kPage = 4096;
  static constexpr unsigned char kZeros[kPage] = {};
  for (Bytes at = 0; at < size_ && done; at += kPage) {  // what was never written stays a hole
    const Bytes part = std::min(kPage, size_ - at);
    if (std::memcmp(data_ + at, kZeros, part) == 0) continue;
    done = ::pwrite(file, data_ + at, part, static_cast<off_t>(at)) == static_cast<ssize_t>(part);
  }
  done = done && mmap(data_, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == data_;
  // Our own mapping may be written to, those to come may not.
  done = done && ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
  if (done) {
    file_ = file;
  } else if (file >= 0) {
    ::close(file);
  }
#endif
  return file_;
}

}  // namespace tidegate::sim
