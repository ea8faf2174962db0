// What went wrong without an error code: undefined behaviour that the simulated machine detected.
//
// A hit is a fault that happened. An exposure is a fault that did not happen only because of timing: the program had
// no proof that it was safe. Rules:
//   H-4            physical memory unmapped or freed under queued or running work (hit), or with work whose completion
//                  the host has never observed (exposure)
//   RACE           two accesses to the same bytes, one a write, without an order between them
//   UNWRITTEN      never-written bytes are read
//   NEVER-RECORDED a stream waits for an event that was never recorded
//   UNMAPPED       work touches addresses that are not mapped, or not accessible in that way
//   TAG-READ       bytes that exist only as a tag are copied to the host
//   H-1, H-2, H-3, H-6, H-8, H-10, H-11 as in docs/wddm.md: what the video memory manager of Windows may be caught in
//   H-9            a NOT_READY from cuMemSetAccess that was not tried again
//   HOST-FREE      host memory is freed or unregistered under a queued or running copy
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/executor.h"

namespace tidegate::sim {

struct Hazard {
  std::string rule;
  bool exposure = false;
  int process = 0;
  std::string call;              // the driver call that brought it to light
  std::uint64_t call_index = 0;  // how many calls that process had made, this one included
  std::string what;              // one line
  std::string bugcheck;          // what it could have become under Windows; empty: nothing known
  base::Nanos at = 0;
};

// "H-4 hit in process 1, call 17 mem_unmap, at 1200 ns: ..."
std::string to_text(const Hazard& hazard);

class Hazards {
 public:
  static constexpr std::size_t kKeep = 4096;  // further ones are counted only

  void add(Hazard hazard);

  std::uint64_t hits(const std::string& rule) const;
  std::uint64_t exposures(const std::string& rule) const;
  std::vector<std::string> rules() const;  // of which there is a hit or an exposure, in order
  std::uint64_t total_hits() const;
  std::uint64_t total_exposures() const;
  const std::vector<Hazard>& list() const { return list_; }
  std::string text() const;  // one line each; empty if nothing was found

 private:
  std::vector<Hazard> list_;
  std::map<std::string, std::uint64_t> hits_;
  std::map<std::string, std::uint64_t> exposures_;
};

}  // namespace tidegate::sim
