// The state of a simulated machine, behind one lock, and the rules that tie its parts together.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sim/card.h"
#include "sim/hazards.h"
#include "sim/host_memory.h"
#include "sim/options.h"
#include "sim/process.h"
#include "sim/timeline.h"
#include "src/base/checksum.h"
#include "src/base/mutex.h"

namespace tidegate::sim {

struct World final : OpEffects {
  World(base::Executor& the_executor, std::uint64_t the_seed, MachineOptions the_options)
      : executor(the_executor),
        seed(the_seed),
        options(the_options),
        random(base::mix64(seed ^ 0x43414C4C)),
        timeline(*this) {}

  base::Executor& executor;
  const std::uint64_t seed;
  const MachineOptions options;
  mutable base::Mutex mutex;
  base::WaitPoint changed;  // notified when something ended other than by the passing of time
  std::vector<std::unique_ptr<CardState>> cards;
  std::vector<std::unique_ptr<Process>> processes;
  int last_process = 0;  // the id last given
  base::Random random;   // for what a call takes, and whether it fails
  Timeline timeline;
  DeclaredMemory declared;
  Hazards hazards;
  std::string trace;
  std::vector<std::string> messages;

  // What follows needs the lock.

  // Brings the device timeline to the present, and answers it.
  base::Nanos advance();

  // Waits until done() holds; false: the process was killed meanwhile. The lock is released while waiting, so that
  // whatever was looked up before has to be looked up again. A caller that cannot park (a task, or one that holds a
  // lock of its own) spends the time; what only another caller could bring about fails it.
  template <typename Done>
  bool wait_until(const Process& process, Done&& done) {
    for (;;) {
      advance();
      if (process.dead) return false;
      if (done()) return true;
      const base::Nanos next = timeline.next_event_time();
      if (executor.can_wait(1)) {
        executor.wait(mutex, changed, next);
      } else if (next == base::kNever) {
        return false;
      } else {
        executor.spend(std::max<base::Nanos>(0, next - executor.now()));
      }
    }
  }

  // `bugcheck`: what it could have become under Windows.
  void report(const Process& process, const char* rule, bool exposure, std::string what, const char* bugcheck = "");
  void log(const std::string& line);  // to the trace
  void message(std::string line);     // for the user

  // Everything `context` had queued or running is gone, and it answers `status` for ever.
  void fail_context(Context& context, cu::Status status);
  // As when a context goes away in an orderly or disorderly manner.
  void drop_work(Context& context);

  // Physical memory.
  std::shared_ptr<PhysicalBlock> create_block(Process& process, int card, HoldingKind kind, Bytes bytes,
                                              cu::Status& status);
  void release_if_unused(const std::shared_ptr<PhysicalBlock>& block);
  // Takes a mapping out of use: reports H-4, lets the personality answer, frees the block if that was its last use.
  // `status_of_work`: false for a stream-ordered free, which is no unmap.
  void remove_mapping(Process& process, const std::shared_ptr<Mapping>& mapping, const char* verb);

  // OpEffects (execution.cpp).
  base::Nanos scheduled(Op& op, base::Nanos now) override;
  void started(Op& op, base::Nanos now) override;
  void finished(Op& op, base::Nanos now) override;
  void faulted(Op& op, base::Nanos now) override;
  void retired(Op& op) override;

 private:
  void check_unwritten(const Op& op, const std::vector<Span>& spans);
  void add_result(Op& op);
};

}  // namespace tidegate::sim
