// How the simulated card reaches one process's host memory: directly, or across the border of a real process.
#pragma once

#include "tidegate/bytes.h"

namespace tidegate::sim {

// Addresses are the process's own. Called with the world's lock held; false: not all of the range can be reached, and
// part of it may have been moved.
class HostAccess {
 public:
  virtual ~HostAccess() = default;
  HostAccess() = default;
  HostAccess(const HostAccess&) = delete;
  HostAccess& operator=(const HostAccess&) = delete;

  virtual bool read(void* to, const void* from, Bytes bytes) = 0;
  virtual bool write(void* to, const void* from, Bytes bytes) = 0;
  // Page-aligned memory that the process can use; null: refused. Given back by release().
  virtual void* allocate(Bytes bytes) = 0;
  virtual void release(void* base) = 0;
};

// The world and its processes share one address space.
HostAccess& direct_host_access();

}  // namespace tidegate::sim
