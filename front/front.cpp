#include "front/front.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "front/choose_backend.h"
#include "front/refusing.h"
#include "sim/errors.h"
#include "src/base/at_fork.h"
#include "src/base/mutex.h"

namespace tidegate::front {
namespace {

// Never destroyed: other threads may be inside while the process ends, and the world's end is the process's.
struct State {
  std::unique_ptr<sim::Backend> backend;
  driver::Driver* driver = nullptr;
  driver::Nvml* nvml = nullptr;
};

// A forked child of a process that used the driver: what asks for nothing of a device still answers (measured: driver
// 580).
class ForkedDriver final : public RefusingDriver {
 public:
  ForkedDriver() : RefusingDriver(cu::kNotInitialized) {}
  cu::Status driver_get_version(int* version) override {
    if (version == nullptr) return cu::kInvalidValue;
    *version = version_;
    return cu::kSuccess;
  }
  cu::Status get_error_name(Status status, const char** text) override { return sim::error_name(status, text); }
  cu::Status get_error_string(Status status, const char** text) override { return sim::error_string(status, text); }
  void remember(driver::Driver& parent) { (void)parent.driver_get_version(&version_); }

 private:
  int version_ = 0;
};

RefusingDriver no_device{cu::kNoDevice};
RefusingNvml no_nvml{nvml::kDriverNotLoaded};
ForkedDriver forked_driver;
RefusingNvml forked_nvml{nvml::kUninitialized};
std::atomic<bool> forked{false};  // from a process that had opened its backend

// Held while the backend is opened and while the process forks: a child never finds it half open, nor the lock held by
// a thread that it does not have.
base::Mutex opening;
std::atomic<State*> opened{nullptr};

State* open() {
  report_at_exit();
  auto* state = new State;
  auto chosen = choose_backend();
  if (chosen) {
    state->backend = std::move(chosen).value();
    (void)std::atexit([] {
      if (sim::Backend* const ending = backend()) ending->at_exit();
    });
    state->driver = &state->backend->driver();
    state->nvml = &state->backend->nvml();
    forked_driver.remember(*state->driver);
  } else {
    std::fprintf(stderr, "tidegate: no simulated card: %s\n", chosen.error().message.c_str());
    state->driver = &no_device;
    state->nvml = &no_nvml;
  }
  return state;
}

const State& state() {
  if (const State* ready = opened.load(std::memory_order_acquire)) return *ready;
  const base::Lock lock(opening);
  if (opened.load(std::memory_order_relaxed) == nullptr) opened.store(open(), std::memory_order_release);
  return *opened.load(std::memory_order_relaxed);
}

__attribute__((constructor)) void watch_forks() {
  base::at_fork([] { opening.lock(); }, [] { opening.unlock(); },
                [] {
                  opening.unlock();
                  if (opened.load() != nullptr) forked.store(true);
                });
}

}  // namespace

driver::Driver& driver() { return forked.load(std::memory_order_relaxed) ? forked_driver : *state().driver; }
sim::Backend* backend() { return forked.load(std::memory_order_relaxed) ? nullptr : state().backend.get(); }

driver::Nvml& nvml() { return forked.load(std::memory_order_relaxed) ? forked_nvml : *state().nvml; }

}  // namespace tidegate::front
