// The one lock of the project, for short critical sections. In a virtual world (base/virtual_executor.h) taking the
// first lock is a scheduling point and locks are never contended, because nobody is interrupted while holding one.
#pragma once

#include <mutex>

namespace tidegate::base {

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock();
  void unlock();

 private:
  friend class ThreadExecutor;
  std::mutex native_;
};

using Lock = std::lock_guard<Mutex>;

}  // namespace tidegate::base
