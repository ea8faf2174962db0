// How an operating system and its driver treat GPU memory: the rules in which Linux and Windows differ.
//
// The simulated machine asks its card's personality; nothing else in the room knows which one it is.
#pragma once

#include <memory>
#include <string>

#include "src/base/executor.h"
#include "src/driver/cuda_abi.h"
#include "tidegate/bytes.h"

namespace tidegate::sim {

struct CardState;
class Process;

struct MemInfo {
  Bytes free = 0;
  Bytes total = 0;
};

class Personality {
 public:
  virtual ~Personality() = default;
  virtual const char* name() const = 0;

  // `process` wants `bytes` of the card: charges them, or answers kOutOfMemory and changes nothing.
  virtual cu::Status commit(CardState& card, Process& process, Bytes bytes, base::Nanos now) = 0;
  // And gives them back.
  virtual void give_back(CardState& card, Process& process, Bytes bytes, base::Nanos now) = 0;

  // cuMemGetInfo as this process sees it.
  virtual MemInfo mem_info(const CardState& card, const Process& process) = 0;
  // What NVML calls free.
  virtual Bytes nvml_free(const CardState& card) = 0;
  // Whether NVML tells a process's bytes.
  virtual bool nvml_per_process() const = 0;

  // What the work that uses memory gets when that memory is unmapped under it; kSuccess: silent corruption.
  virtual cu::Status unmap_in_use() const = 0;
};

// By name ("linux"); null for an unknown one.
std::unique_ptr<Personality> make_personality(const std::string& name);

}  // namespace tidegate::sim
