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

 private:
  unsigned char* data_ = nullptr;
  Bytes size_ = 0;
};

}  // namespace tidegate::sim
