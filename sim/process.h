// One simulated operating system process: its driver, its view of NVML, and what it owns.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/address_space.h"
#include "sim/context.h"
#include "sim/host_memory.h"
#include "sim/mem_pool.h"
#include "sim/stats.h"
#include "src/driver/nvml.h"

namespace tidegate::sim {

struct CardState;
struct World;
class SimDriver;
class SimNvml;

class Process {
 public:
  // `pid`: what NVML calls it; 0: its id. `host`: its host memory; null: the world's own address space.
  Process(World& world, int id, std::string name, int pid = 0, std::unique_ptr<HostAccess> host = nullptr);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int id() const { return id_; }
  int pid() const { return pid_; }
  const std::string& name() const { return name_; }
  // Both live as long as the machine; once the process was killed every call answers DEINITIALIZED.
  driver::Driver& driver();
  driver::Nvml& nvml();

  bool alive() const;
  Stats stats() const;

  // The calls number skip + 1 ... skip + times of `id` from now on answer `status` and do nothing else.
  void fail_calls(driver::FunctionId id, cu::Status status, std::uint64_t times = 1, std::uint64_t skip = 0);

  // Bytes of a card that this process holds by other means than CUDA, as a desktop does; replaces the former value.
  // False: the card has not so much left.
  bool hold(int card, Bytes bytes);

  // --- For the room only; the world's lock guards all of it. ---
  struct Thread {                         // per calling thread
    std::vector<std::uint64_t> contexts;  // the stack of current contexts
    cu::CaptureMode capture_mode = cu::kCaptureGlobal;
    std::unordered_map<std::uint64_t, std::uint64_t> own_streams;  // per context: CU_STREAM_PER_THREAD's real handle
  };
  struct Injection {
    driver::FunctionId id;
    cu::Status status;
    std::uint64_t skip;
    std::uint64_t times;
  };
  World& world;
  bool dead = false;
  bool initialized = false;
  Stats counters;
  std::vector<Injection> injections;
  std::unordered_map<std::uint64_t, Thread> threads;
  std::map<std::uint64_t, std::shared_ptr<Context>> contexts;
  std::unordered_map<std::uint64_t, std::shared_ptr<Stream>> streams;
  std::unordered_map<std::uint64_t, std::shared_ptr<EventObject>> events;
  std::unordered_map<std::uint64_t, std::shared_ptr<ModuleObject>> modules;
  std::unordered_map<std::uint64_t, FunctionObject> functions;
  std::map<std::uint64_t, std::shared_ptr<Capture>> captures;
  std::map<std::uint64_t, std::uint64_t> graphs;  // handle to number of nodes
  std::unordered_map<cu::MemHandle, std::shared_ptr<PhysicalBlock>> handles;
  std::map<std::uint64_t, std::shared_ptr<MemPool>> pools;
  AddressSpace space;
  const std::unique_ptr<HostAccess> own_host;
  HostAccess& host_memory;
  PinnedMemory pinned;
  std::map<int, SubAllocator> small;                               // of cuMemAlloc, per card
  std::map<cu::DevicePtr, std::shared_ptr<PhysicalBlock>> chunks;  // behind every SubAllocator's chunk
  std::map<int, Holding> graphics;                                 // hold()
  std::uint64_t next_handle = 0x1000;
  std::uint64_t next_block = 1;
  driver::FunctionId last_call{};  // what hazards are attributed to

  // Clocks.
  VectorClock host;
  std::uint64_t host_version = 0;
  std::vector<Epoch> slots;  // per slot the last epoch used
  std::vector<std::uint32_t> free_slots;

  std::uint64_t new_handle() { return next_handle += 0x10; }
  std::uint32_t take_slot();
  void observe(const VectorClock& clock) {
    if (host.join(clock)) ++host_version;
  }
  // Frees all it holds, as the kernel does when a process ends.
  void die();

 private:
  int id_;
  int pid_;
  std::string name_;
  std::unique_ptr<SimDriver> driver_;
  std::unique_ptr<SimNvml> nvml_;
};

}  // namespace tidegate::sim
