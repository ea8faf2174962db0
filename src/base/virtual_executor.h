// The seed-ordered executor: virtual time, one activity at a time, every order decided by one seed.
//
// The thread that constructs it becomes virtual thread 0; run_threads() adds more. Tasks are stepped on the stack of
// whichever virtual thread parks, so a world with one caller never switches OS threads. Time moves only when nobody can
// run at the present instant. An activity is interrupted only at scheduling points: the first Mutex::lock, spend()
// while no lock is held, wait(). Same seed, same calls: same order, on every platform.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/checksum.h"
#include "src/base/executor.h"

namespace tidegate::base {

struct VirtualOptions {
  std::uint64_t seed = 1;
  // With this probability (in 1/1024) a scheduling point delays the caller by up to preempt_max, as an operating system
  // would; 0 keeps the timing exact. Random orders among equals happen in any case.
  unsigned preempt_per_1024 = 0;
  Nanos preempt_max = 50 * kMicrosecond;
  // > 0: virtual time follows real time, `pace` virtual nanoseconds to one real nanosecond (for demonstrations).
  double pace = 0;
};

// What a virtual world waits for that is not in it: programs whose calls become work of the world (sim/remote). Both
// functions run on whoever decides what runs next, with no lock held; they may wake tasks, notify wait points and
// start() activities, and do nothing else to the world.
class Outside {
 public:
  virtual ~Outside() = default;
  // Before each decision: lets in what has arrived, once it is certain that nothing else can arrive before the world
  // goes on.
  virtual void settle() = 0;
  // Nobody can run before `timeout` (kNever: ever), in real nanoseconds: waits for that, or for something to arrive.
  virtual void wait(Nanos timeout) = 0;
};

class VirtualExecutor final : public Executor {
 public:
  using Options = VirtualOptions;
  explicit VirtualExecutor(Options options = {});
  explicit VirtualExecutor(std::uint64_t seed) : VirtualExecutor(Options{seed}) {}
  ~VirtualExecutor() override;

  // Runs each function on a virtual thread of its own, starting now; returns when all have returned. Virtual thread 0
  // only.
  void run_threads(std::vector<std::function<void()>> bodies);
  // A thread that the world does not know takes part in it while this object lives: it is an activity then, always the
  // same one. Others wait at the door, so time passes inside visits only. One thread that visits: same seed, same run.
  class Visit {
   public:
    explicit Visit(VirtualExecutor& world);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    VirtualExecutor& world_;
    VirtualExecutor* outer_;
  };
  // The constructing thread stops being an activity; from now on the world is visited. Without run_threads().
  void open_door();

  // The world is part of a larger one. It must outlive the executor's use; null: no longer. With a pace, time that
  // passes outside passes here too.
  void set_outside(Outside* outside) { outside_ = outside; }
  // A further activity, on an OS thread of its own, from now on. From an activity or a task's step.
  void start(std::function<void()> body);
  // Joins the OS threads of those that have returned.
  void join_finished();
  // Parks the caller until `time`.
  void sleep_until(Nanos time);

  // Called when every virtual thread is parked without a deadline and no task will wake: prints by default who waits
  // and the seed in one line, then aborts. A test may throw nothing here but may end the process differently.
  void on_deadlock(std::function<void(const std::string&)> handler) { deadlock_handler_ = std::move(handler); }

  std::uint64_t seed() const { return options_.seed; }
  Random& random() { return random_; }

  Nanos now() override { return now_ + pending_; }
  void spend(Nanos cost) override;
  void add(Task& task) override;
  void remove(Task& task) override;
  void wake(Task& task) override;
  bool wait(Mutex& mutex, WaitPoint& point, Nanos deadline) override;
  void notify_all(WaitPoint& point) override;
  bool can_wait(int own_locks = 0) override { return !in_task_ && locks_held_ == own_locks; }
  std::uint64_t caller_id() override;

  // The virtual executor whose activity the calling OS thread is, or null.
  static VirtualExecutor* current();

 private:
  friend class Mutex;
  struct Thread;
  struct TaskEntry {
    Task* task;
    Nanos wake_at;
    Nanos busy_until;
    bool stepping;
    std::uint64_t id;
  };

  void lock_point();    // from Mutex::lock
  void unlock_point();  // from Mutex::unlock
  // Lets everybody else run who is due before `self` is; returns when it is self's turn.
  void reschedule(Thread& self);
  void flush_pending(Thread& self);
  Nanos due(const Thread& thread) const;
  void step_task(std::size_t index);
  void advance_to(Nanos time);
  void hand_over(Thread& from, Thread& to);
  void run_body(Thread& self, const std::function<void()>& body);
  bool wait_outside(Nanos until);
  void deadlock();
  TaskEntry* find(const Task& task);

  Options options_;
  Random random_;
  Nanos now_ = 0;
  Nanos pending_ = 0;   // processor time spent since the last scheduling point
  int locks_held_ = 0;  // by the running activity
  bool in_task_ = false;
  std::uint64_t running_task_ = 0;
  std::uint64_t next_task_id_ = 1;
  std::vector<TaskEntry> tasks_;
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* running_ = nullptr;
  VirtualExecutor* previous_ = nullptr;  // worlds nest in tests: the one that was current before this one
  std::function<void(const std::string&)> deadlock_handler_;
  Nanos real_origin_ = 0;
  Outside* outside_ = nullptr;
  std::uint64_t next_thread_id_ = 1;
  std::mutex door_;
  std::map<std::uint64_t, Thread*> visitors_;
};

}  // namespace tidegate::base
