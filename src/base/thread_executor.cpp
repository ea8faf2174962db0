#include "src/base/thread_executor.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <thread>

namespace tidegate::base {

struct ThreadExecutor::Worker {
  Task* task = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = true;
  bool stopping = false;
  std::thread thread;
};

namespace {
using Clock = std::chrono::steady_clock;
Clock::time_point to_time_point(Nanos time) { return Clock::time_point(std::chrono::nanoseconds(time)); }
}  // namespace

ThreadExecutor::ThreadExecutor() = default;

ThreadExecutor::~ThreadExecutor() { assert(workers_.empty() && "a task outlives its executor"); }

Nanos ThreadExecutor::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

void ThreadExecutor::add(Task& task) {
  auto owned = std::make_unique<Worker>();
  Worker* worker = owned.get();
  worker->task = &task;
  worker->thread = std::thread([this, worker] {
    std::unique_lock<std::mutex> lock(worker->mutex);
    while (!worker->stopping) {
      worker->woken = false;
      lock.unlock();
      const Nanos next = worker->task->step(now());
      lock.lock();
      const auto ready = [worker] { return worker->woken || worker->stopping; };
      if (next == kNever) {
        worker->changed.wait(lock, ready);
      } else {
        worker->changed.wait_until(lock, to_time_point(next), ready);
      }
    }
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  workers_.push_back(std::move(owned));
}

void ThreadExecutor::remove(Task& task) {
  std::unique_ptr<Worker> worker;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(workers_.begin(), workers_.end(), [&](const auto& w) { return w->task == &task; });
    if (found == workers_.end()) return;
    worker = std::move(*found);
    workers_.erase(found);
  }
  {
    const std::lock_guard<std::mutex> lock(worker->mutex);
    worker->stopping = true;
  }
  worker->changed.notify_one();
  worker->thread.join();
}

void ThreadExecutor::wake(Task& task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& worker : workers_) {
    if (worker->task != &task) continue;
    {
      const std::lock_guard<std::mutex> guard(worker->mutex);
      worker->woken = true;
    }
    worker->changed.notify_one();
    return;
  }
}

bool ThreadExecutor::wait(Mutex& mutex, WaitPoint& point, Nanos deadline) {
  std::unique_lock<std::mutex> lock(mutex.native_, std::adopt_lock);
  bool in_time = true;
  if (deadline == kNever) {
    point.native_.wait(lock);
  } else {
    in_time = point.native_.wait_until(lock, to_time_point(deadline)) == std::cv_status::no_timeout;
  }
  lock.release();
  return in_time;
}

void ThreadExecutor::notify_all(WaitPoint& point) { point.native_.notify_all(); }

std::uint64_t ThreadExecutor::caller_id() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t id = next.fetch_add(1, std::memory_order_relaxed);
  return id;
}

}  // namespace tidegate::base
