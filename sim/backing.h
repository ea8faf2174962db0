// Real bytes behind a simulated allocation: address space that costs memory only where it was touched.
#pragma once

#include "tidegate/bytes.h"

namespace tidegate::sim {

class Backing {
 public:
  Backing() = default;
  ~Backing();
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;

  // Zeroed bytes; null where the system refuses. Repeated calls answer the same address.
  unsigned char* ensure(Bytes size);
  unsigned char* data() const { return data_; }

  // A descriptor by which other processes may map these bytes, for reading only; they stay where they are. Owned by
  // this object. Negative: the system cannot (anything but Linux), or has no memory.
  int share(Bytes size);
  bool shared() const { return file_ >= 0; }

 private:
  unsigned char* data_ = nullptr;
  Bytes size_ = 0;
  int file_ = -1;
};

}  // namespace tidegate::sim
