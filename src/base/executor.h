// The clock and executor seam: the only place where threads, waiting and time come from.
//
// Two implementations pass one contract suite (tests/contract/executor): ThreadExecutor (base/thread_executor.h: OS
// threads, monotonic clock) and VirtualExecutor (base/virtual_executor.h: one seed decides every order, time is
// virtual and moves only when nobody can run). Long-lived activities are Tasks; callers park on a WaitPoint; short
// critical sections use base::Mutex. Nothing above src/base waits in any other way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>

#include "src/base/mutex.h"

namespace tidegate::base {

using Nanos = std::int64_t;  // a duration, or a point on the executor's clock, in nanoseconds
inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

// A long-lived activity. step() does what can be done now and never waits; it returns the time at which it wants to
// run again (kNever: only when woken). One step at a time per task; steps of different tasks may overlap.
class Task {
 public:
  virtual ~Task() = default;
  virtual const char* name() const = 0;
  virtual Nanos step(Nanos now) = 0;
};

// A place where callers park until somebody notifies. Owned by the structure that is waited for; outlives its waiters.
class WaitPoint {
 public:
  WaitPoint() = default;
  WaitPoint(const WaitPoint&) = delete;
  WaitPoint& operator=(const WaitPoint&) = delete;

 private:
  friend class ThreadExecutor;
  std::condition_variable native_;  // the virtual executor tells wait points apart by address alone
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Nanoseconds on a clock that never goes back. Its origin has no meaning.
  virtual Nanos now() = 0;

  // Says that the caller's own work costs `cost` of processor time. Real time passes by itself, so ThreadExecutor does
  // nothing; virtually the clock moves for the caller. May be a scheduling point.
  virtual void spend(Nanos cost) = 0;

  // Registers a task and first wakes it. The task must outlive remove().
  virtual void add(Task& task) = 0;
  // Returns once the task is not running and never will again. Not from inside the task itself.
  virtual void remove(Task& task) = 0;
  // Makes the task's step() run soon. Any thread, never waits; wakes during a step are not lost.
  virtual void wake(Task& task) = 0;

  // Parks the caller, which holds `mutex`, until notify_all(point) or `deadline` (kNever: none); the mutex is released
  // meanwhile and held again on return. False: the deadline passed. Spurious returns are allowed: callers loop on
  // their condition. Not from inside a task's step.
  virtual bool wait(Mutex& mutex, WaitPoint& point, Nanos deadline) = 0;
  virtual void notify_all(WaitPoint& point) = 0;

  // Whether the caller may park now, by giving up `own_locks` that it holds. False inside a virtual task's step or
  // under a further lock of a virtual world; such a caller spends the time instead.
  virtual bool can_wait(int own_locks = 0) { return own_locks >= 0; }

  // A number for the calling activity (thread or virtual thread), stable while it lives; for wait-for graphs.
  virtual std::uint64_t caller_id() = 0;
};

}  // namespace tidegate::base
