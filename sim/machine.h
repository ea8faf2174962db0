// The simulated machine: cards and processes as objects, on the clock of an executor.
//
// Many machines may live in one program; each is a world of its own, with its own card UUIDs. Any thread may call
// anything here and in the processes' drivers. Same seed, same calls: the same run, to the nanosecond and the byte, on
// a VirtualExecutor. Include this header to use the room; the others are its inside, but for process.h, hazards.h,
// options.h, stats.h and profile.h, which this one brings along.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/hazards.h"
#include "sim/host_memory.h"
#include "sim/options.h"
#include "sim/process.h"
#include "sim/profile.h"

namespace tidegate::sim {

class Machine {
 public:
  // The executor must outlive the machine.
  Machine(base::Executor& executor, std::uint64_t seed, MachineOptions options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Before the first process starts. Answers the card's index. Host costs of all calls are those of the first card.
  int add_card(const Profile& profile);
  const Profile& profile(int card = 0) const;
  cu::Uuid uuid(int card = 0) const;

  // The process lives as long as the machine, or until it is forgotten; ids count from 1. `pid`: what NVML calls it; 0:
  // its id. `host`: how its host memory is reached; null: as ours.
  Process& start_process(const std::string& name, int pid = 0, std::unique_ptr<HostAccess> host = nullptr);
  // As if it were killed: its work vanishes, its memory is free, calls in progress answer DEINITIALIZED.
  void kill(Process& process);
  // Destroys a killed process. No call of it may be in progress.
  void forget(Process& process);
  // The calling thread or activity makes no further call in `process`: what the driver keeps for it may go.
  void end_thread(Process& process);

  // Declares that [base, base + size) of host memory holds tag `tag` from offset 0 on, except in the `real` ranges
  // (ordered, apart, non-empty), which hold real bytes. The tagged part is never touched and may be address space
  // without access. Copies from it to a card move tags. `pinned`: counts as page-locked. False: overlaps a declared
  // range, or the ranges are off. To be undeclared by its base; copies already submitted keep what they saw.
  bool declare_tagged_host(const void* base, Bytes size, std::uint64_t tag, std::vector<RealRange> real = {},
                           bool pinned = true);
  bool undeclare_host(const void* base);

  // What the kernel tidegate_checksum adds for device memory that holds a copy of [host, host + bytes): the sum of
  // base::checksum's terms over the words that hold real bytes, plus a term for each maximal run of one tag, which
  // mixes tag, source offset, position and length.
  std::uint64_t expected_checksum(const void* host, Bytes bytes) const;

  Hazards hazards() const;                    // a copy
  std::vector<std::string> messages() const;  // why modules were refused, one line each
  std::string trace() const;                  // MachineOptions::trace; all calls and operations as text
  Bytes used(int card = 0) const;             // committed now, by all processes
  Bytes peak_used(int card = 0) const;
  base::Nanos busy_ns(int card, EngineKind engine) const;
  // The real bytes behind device memory of `process`, as they are now and as they change: where they lie here, and the
  // file and offset by which other processes may map them to read (Linux; else file is negative). They stay readable
  // while that memory is allocated. Looking costs no time and orders nothing. Errors: kInvalidArgument, not memory of
  // one mapping; kNotFound, it holds content tags.
  struct SharedBytes {
    int file = -1;
    Bytes offset = 0;
    const unsigned char* data = nullptr;
  };
  Result<SharedBytes> share_bytes(Process& process, cu::DevicePtr address, Bytes bytes);
  // Moves the simulation to the present, as any driver call does.
  void advance();
  // The card's time, in nanoseconds since the machine was made or, in real time, since some moment of no meaning.
  base::Nanos now() const;
  // Bytes that `process` holds on a card, as the operating system counts them.
  Bytes held_by(const Process& process, int card = 0) const;

 private:
  std::unique_ptr<World> world_;
};

}  // namespace tidegate::sim
