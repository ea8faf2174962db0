#include "sim/backing.h"

#include <cstdlib>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#define TG_SIM_MMAP 1
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#endif

namespace tidegate::sim {

Backing::~Backing() {
  if (data_ == nullptr) return;
#ifdef TG_SIM_MMAP
  munmap(data_, size_);
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

}  // namespace tidegate::sim
