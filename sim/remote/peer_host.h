// The host memory of a simulated process that is a real one.
#pragma once

#include "sim/host_access.h"

namespace tidegate::sim::remote {

class PeerHost final : public HostAccess {
 public:
  explicit PeerHost(int pid) : pid_(pid) {}

  bool read(void* to, const void* from, Bytes bytes) override;
  bool write(void* to, const void* from, Bytes bytes) override;
  // The client makes page-locked memory itself: answers what the calling OS thread offered last.
  void* allocate(Bytes bytes) override;
  void release(void*) override {}

  static void offer(void* base);

 private:
  const int pid_;
};

}  // namespace tidegate::sim::remote
