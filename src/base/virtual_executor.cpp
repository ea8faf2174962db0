#include "src/base/virtual_executor.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace tidegate::base {

namespace {
thread_local VirtualExecutor* tls_executor = nullptr;

Nanos real_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
}  // namespace

struct VirtualExecutor::Thread {
  std::uint64_t index = 0;
  std::thread native;  // of those that start() made
  bool finished = false;
  bool parked = false;  // waiting on `point` (or asleep if point is null)
  const WaitPoint* point = nullptr;
  bool notified = false;
  Nanos ready_at = 0;  // not parked: the time from which it may run; parked: its deadline
  // The baton: only the OS thread whose flag is set runs.
  std::mutex mutex;
  std::condition_variable turn;
  bool has_turn = false;
};

VirtualExecutor* VirtualExecutor::current() { return tls_executor; }

VirtualExecutor::VirtualExecutor(Options options)
    : options_(options), random_(options.seed), previous_(tls_executor), real_origin_(real_now()) {
  threads_.push_back(std::make_unique<Thread>());
  threads_[0]->has_turn = true;
  running_ = threads_[0].get();
  tls_executor = this;
}

VirtualExecutor::~VirtualExecutor() {
  join_finished();
  tls_executor = previous_;
}

void VirtualExecutor::advance_to(Nanos time) {
  if (time <= now_) return;
  now_ = time;
  if (options_.pace > 0) {
    const Nanos target = real_origin_ + static_cast<Nanos>(static_cast<double>(now_) / options_.pace);
    const Nanos wait = target - real_now();
    if (wait > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(wait));
  }
}

Nanos VirtualExecutor::due(const Thread& thread) const {
  if (thread.finished) return kNever;
  if (thread.parked && thread.notified) return now_;
  return thread.ready_at;
}

void VirtualExecutor::step_task(std::size_t index) {
  TaskEntry& entry = tasks_[index];
  Task* task = entry.task;
  const std::uint64_t id = entry.id;
  entry.stepping = true;
  entry.wake_at = kNever;
  in_task_ = true;
  running_task_ = id;
  const Nanos next = task->step(now_);
  in_task_ = false;
  running_task_ = 0;
  assert(locks_held_ == 0 && "a task's step returned with a lock held");
  TaskEntry* after = nullptr;  // the list may have changed
  for (TaskEntry& other : tasks_) {
    if (other.id == id) after = &other;
  }
  if (after != nullptr) {
    after->stepping = false;
    after->busy_until = now_ + pending_;
    after->wake_at = std::min(after->wake_at, next);  // a wake during the step is not lost
  }
  pending_ = 0;
}

void VirtualExecutor::reschedule(Thread& self) {
  for (;;) {
    if (outside_ != nullptr) outside_->settle();
    // The earliest due activity; ties are broken by the seed, evenly.
    Nanos best = kNever;
    std::uint64_t equals = 0;
    std::size_t chosen_task = tasks_.size();
    Thread* chosen_thread = nullptr;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const TaskEntry& entry = tasks_[i];
      if (entry.wake_at == kNever) continue;
      const Nanos at = std::max({entry.wake_at, entry.busy_until, now_});
      if (at > best) continue;
      equals = at < best ? 1 : equals + 1;
      best = at;
      if (equals == 1 || random_.below(equals) == 0) {
        chosen_task = i;
        chosen_thread = nullptr;
      }
    }
    for (const auto& thread : threads_) {
      Nanos at = due(*thread);
      if (at == kNever) continue;
      at = std::max(at, now_);
      if (at > best) continue;
      equals = at < best ? 1 : equals + 1;
      best = at;
      if (equals == 1 || random_.below(equals) == 0) {
        chosen_thread = thread.get();
        chosen_task = tasks_.size();
      }
    }
    if (outside_ != nullptr && wait_outside(best)) continue;
    if (best == kNever) {
      deadlock();
      return;
    }
    advance_to(best);
    if (chosen_thread == nullptr) {
      step_task(chosen_task);
      continue;
    }
    if (chosen_thread == &self) return;
    hand_over(self, *chosen_thread);
    return;  // the turn came back: whoever handed it over chose us
  }
}

// True: there was something to wait for outside, so that the decision is to be made anew.
bool VirtualExecutor::wait_outside(Nanos until) {
  if (options_.pace <= 0) {
    if (until == kNever) outside_->wait(kNever);
    return until == kNever;
  }
  const auto pace = [this](Nanos real) { return static_cast<Nanos>(static_cast<double>(real) * options_.pace); };
  now_ = std::max(now_, std::min(until, pace(real_now() - real_origin_)));
  if (until <= now_) return false;
  const Nanos left = until == kNever ? kNever : static_cast<Nanos>(static_cast<double>(until - now_) / options_.pace);
  outside_->wait(left);
  return true;
}

void VirtualExecutor::hand_over(Thread& from, Thread& to) {
  running_ = &to;
  {
    const std::lock_guard<std::mutex> lock(from.mutex);
    from.has_turn = false;
  }
  {
    const std::lock_guard<std::mutex> lock(to.mutex);
    to.has_turn = true;
  }
  to.turn.notify_one();
  if (from.finished) return;
  std::unique_lock<std::mutex> lock(from.mutex);
  from.turn.wait(lock, [&] { return from.has_turn; });
}

void VirtualExecutor::flush_pending(Thread& self) {
  Nanos extra = 0;
  if (options_.preempt_per_1024 > 0 && random_.below(1024) < options_.preempt_per_1024) {
    extra = static_cast<Nanos>(random_.below(static_cast<std::uint64_t>(options_.preempt_max) + 1));
  }
  self.ready_at = now_ + pending_ + extra;
  pending_ = 0;
  reschedule(self);
}

void VirtualExecutor::spend(Nanos cost) {
  pending_ += cost;
  if (in_task_ || locks_held_ > 0) return;
  flush_pending(*running_);
}

void VirtualExecutor::lock_point() {
  if (!in_task_ && locks_held_ == 0 && (pending_ > 0 || threads_.size() > 1 || options_.preempt_per_1024 > 0)) {
    flush_pending(*running_);
  }
  ++locks_held_;
}

void VirtualExecutor::unlock_point() {
  assert(locks_held_ > 0);
  --locks_held_;
}

bool VirtualExecutor::wait(Mutex&, WaitPoint& point, Nanos deadline) {
  assert(!in_task_ && "a task's step must not wait");
  assert(locks_held_ == 1 && "waiting with a second lock held");
  Thread& self = *running_;
  --locks_held_;
  // Time spent under the lock passes before the caller parks.
  const Nanos start = now_ + pending_;
  pending_ = 0;
  self.parked = true;
  self.point = &point;
  self.notified = false;
  self.ready_at = deadline == kNever ? kNever : std::max(deadline, start);
  reschedule(self);
  const bool notified = self.notified;
  self.parked = false;
  self.point = nullptr;
  self.notified = false;
  self.ready_at = now_;
  if (now_ < start) pending_ = start - now_;
  ++locks_held_;
  return notified;
}

void VirtualExecutor::sleep_until(Nanos time) {
  assert(!in_task_ && locks_held_ == 0);
  if (time > now_ + pending_) pending_ = time - now_;
  flush_pending(*running_);
}

void VirtualExecutor::notify_all(WaitPoint& point) {
  for (const auto& thread : threads_) {
    if (thread->parked && thread->point == &point) thread->notified = true;
  }
}

VirtualExecutor::TaskEntry* VirtualExecutor::find(const Task& task) {
  for (TaskEntry& entry : tasks_) {
    if (entry.task == &task) return &entry;
  }
  return nullptr;
}

void VirtualExecutor::add(Task& task) {
  assert(find(task) == nullptr);
  tasks_.push_back({&task, now(), now(), false, next_task_id_++});
}

void VirtualExecutor::remove(Task& task) {
  // Steps run to their end on one stack, so a task that is not on it is not running.
  std::erase_if(tasks_, [&](const TaskEntry& entry) { return entry.task == &task; });
}

void VirtualExecutor::wake(Task& task) {
  if (TaskEntry* entry = find(task)) entry->wake_at = std::min(entry->wake_at, now());
}

std::uint64_t VirtualExecutor::caller_id() {
  if (in_task_) return (std::uint64_t{1} << 32) + running_task_;
  return running_->index;
}

void VirtualExecutor::run_body(Thread& self, const std::function<void()>& body) {
  {
    std::unique_lock<std::mutex> lock(self.mutex);
    self.turn.wait(lock, [&] { return self.has_turn; });
  }
  tls_executor = this;
  body();
  self.finished = true;
  pending_ = 0;
  reschedule(self);  // hands the turn on and returns at once, because the thread is finished
  tls_executor = nullptr;
}

void VirtualExecutor::open_door() {
  assert(threads_.size() == 1 && locks_held_ == 0);
  threads_[0]->parked = true;
  threads_[0]->ready_at = kNever;
  tls_executor = previous_;
}

VirtualExecutor::Visit::Visit(VirtualExecutor& world) : world_(world) {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t visitor = next.fetch_add(1, std::memory_order_relaxed);
  world.door_.lock();
  outer_ = std::exchange(tls_executor, &world);
  Thread*& self = world.visitors_[visitor];
  if (self == nullptr) {
    world.threads_.push_back(std::make_unique<Thread>());
    self = world.threads_.back().get();
    self->index = world.next_thread_id_++;
  }
  self->parked = false;
  self->ready_at = world.now_;
  self->has_turn = true;
  world.running_ = self;
}

VirtualExecutor::Visit::~Visit() {
  Thread& self = *world_.running_;
  if (world_.pending_ > 0) world_.flush_pending(self);
  self.parked = true;
  self.ready_at = kNever;
  self.has_turn = false;
  tls_executor = outer_;
  world_.door_.unlock();
}

void VirtualExecutor::start(std::function<void()> body) {
  auto thread = std::make_unique<Thread>();
  thread->index = next_thread_id_++;
  thread->ready_at = now();
  Thread* self = thread.get();
  threads_.push_back(std::move(thread));
  self->native = std::thread([this, self, body = std::move(body)] { run_body(*self, body); });
}

void VirtualExecutor::join_finished() {
  std::erase_if(threads_, [this](const std::unique_ptr<Thread>& thread) {
    if (!thread->finished || thread.get() == running_ || !thread->native.joinable()) return false;
    thread->native.join();
    return true;
  });
}

void VirtualExecutor::run_threads(std::vector<std::function<void()>> bodies) {
  assert(running_ == threads_[0].get() && threads_.size() == 1 && "run_threads is for virtual thread 0");
  std::vector<std::thread> native;
  WaitPoint all_done;
  Mutex mutex;
  std::size_t remaining = bodies.size();
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    auto thread = std::make_unique<Thread>();
    thread->index = i + 1;
    thread->ready_at = now_;
    threads_.push_back(std::move(thread));
  }
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    Thread* self = threads_[i + 1].get();
    native.emplace_back([this, self, &bodies, i, &remaining, &all_done] {
      run_body(*self, [&] {
        bodies[i]();
        if (--remaining == 0) notify_all(all_done);
      });
    });
  }
  mutex.lock();
  while (remaining > 0) wait(mutex, all_done, kNever);
  mutex.unlock();
  for (std::thread& thread : native) thread.join();
  threads_.resize(1);
}

void VirtualExecutor::deadlock() {
  std::string text = "deadlock at virtual time " + std::to_string(now_) + " ns, seed " + std::to_string(options_.seed) +
                     ": no activity can ever run;";
  for (const auto& thread : threads_) {
    if (!thread->finished) text += " thread " + std::to_string(thread->index) + " waits;";
  }
  if (deadlock_handler_) {
    deadlock_handler_(text);
    return;
  }
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

void Mutex::lock() {
  if (VirtualExecutor* world = tls_executor) {
    world->lock_point();
  } else {
    native_.lock();
  }
}

void Mutex::unlock() {
  if (VirtualExecutor* world = tls_executor) {
    world->unlock_point();
  } else {
    native_.unlock();
  }
}

}  // namespace tidegate::base
