// The executor of the real world: one OS thread per task, the monotonic clock.
#pragma once

#include <list>
#include <memory>

#include "src/base/executor.h"

namespace tidegate::base {

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor();
  ~ThreadExecutor() override;  // every task must have been removed

  Nanos now() override;
  void spend(Nanos) override {}
  void add(Task& task) override;
  void remove(Task& task) override;
  void wake(Task& task) override;
  bool wait(Mutex& mutex, WaitPoint& point, Nanos deadline) override;
  void notify_all(WaitPoint& point) override;
  std::uint64_t caller_id() override;

 private:
  struct Worker;
  std::mutex mutex_;  // guards workers_
  std::list<std::unique_ptr<Worker>> workers_;
};

}  // namespace tidegate::base
