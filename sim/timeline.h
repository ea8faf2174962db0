// The device timeline: what runs when. A discrete-event simulation that is advanced to the present at each call.
//
// An operation becomes ready when everything it depends on is done: the operation before it on its stream, the event it
// waits for, the default stream's order. Each engine runs one operation at a time to its end and takes the ready one
// that has been ready longest (ties: the order of submission); kernels with fewer blocks than the card has
// multiprocessors leave room for others and start when they are ready. Not thread-safe: the machine's lock guards it.
#pragma once

#include <memory>
#include <vector>

#include "sim/op.h"

namespace tidegate::sim {

// What operations do; implemented by the room's execution.cpp.
class OpEffects {
 public:
  virtual ~OpEffects() = default;
  // An operation that takes an engine is ready; answers when the system lets it start. Asked once.
  virtual base::Nanos scheduled(Op& op, base::Nanos now) = 0;
  virtual void started(Op& op, base::Nanos now) = 0;
  virtual void finished(Op& op, base::Nanos now) = 0;
  // The operation was about to start and carries a fault, or started and was given one. Must drop the context's work.
  virtual void faulted(Op& op, base::Nanos now) = 0;
  // Done or dropped: whatever referred to it lets go. Called once per submitted operation.
  virtual void retired(Op& op) = 0;
};

class Timeline {
 public:
  explicit Timeline(OpEffects& effects) : effects_(effects) {}

  int add_card();

  // `after`: operations of other streams that it depends on; done ones and nulls are ignored. The stream's own order
  // comes by itself.
  void submit(std::shared_ptr<Op> op, int card, const std::vector<Op*>& after, base::Nanos now);

  void advance(base::Nanos now);

  // When the next operation ends or is let start; kNever if there is none.
  base::Nanos next_event_time() const;

  // Drops all work of `streams`: nothing of it takes effect any more, engines are free at once.
  void drop(const std::vector<std::shared_ptr<Stream>>& streams, base::Nanos now);

  // For kBeside the sum over its kernels, which may exceed the time that has passed.
  base::Nanos busy_ns(int card, EngineKind engine) const;
  // The most recent point in time that has been simulated.
  base::Nanos now() const { return now_; }

 private:
  struct Waiting {
    base::Nanos ready;
    std::uint64_t seq;
    std::shared_ptr<Op> op;
    bool operator<(const Waiting& other) const {  // for a heap with the first to run on top
      return ready != other.ready ? ready > other.ready : seq > other.seq;
    }
  };
  struct Engine {
    std::shared_ptr<Op> running;
    base::Nanos end = base::kNever;
    base::Nanos start = 0;
    base::Nanos busy = 0;
    std::vector<Waiting> queue;
  };

  struct Running {  // beside the engines
    base::Nanos end;
    std::shared_ptr<Op> op;
    bool operator<(const Running& other) const {  // for a heap with the first to end on top
      return end != other.end ? end > other.end : op->seq > other.op->seq;
    }
  };

  void start(Engine* engine, std::shared_ptr<Op> op);
  void finish(const std::shared_ptr<Op>& op);
  void make_ready(std::shared_ptr<Op> op);
  void enqueue(std::shared_ptr<Op> op);  // at its engine
  void settle();                         // works through what became ready
  void dispatch();                       // gives idle engines their next operation
  bool idle(const Engine& engine) const { return engine.running == nullptr || &engine == &beside_; }

  OpEffects& effects_;
  std::vector<Engine> engines_;  // kEngineCount per card
  Engine beside_;                // of all cards; only its queue is used
  std::vector<Running> running_beside_;
  std::vector<Waiting> held_;             // ready, but not let start before `ready`; a heap
  std::vector<base::Nanos> beside_busy_;  // per card
  std::vector<std::shared_ptr<Op>> became_ready_;
  std::uint64_t next_seq_ = 1;
  base::Nanos now_ = 0;
};

}  // namespace tidegate::sim
