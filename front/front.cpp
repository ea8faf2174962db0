#include "front/front.h"

#include <atomic>
#include <cstdio>

#include <pthread.h>

#include "front/choose_backend.h"
#include "front/refusing.h"

namespace tidegate::front {
namespace {

// Never destroyed: other threads may be inside while the process ends, and the world's end is the process's.
struct State {
  std::unique_ptr<sim::Backend> backend;
  driver::Driver* driver = nullptr;
  driver::Nvml* nvml = nullptr;
};

RefusingDriver no_device{cu::kNoDevice};
RefusingNvml no_nvml{nvml::kDriverNotLoaded};
RefusingDriver forked_driver{cu::kNotInitialized};
RefusingNvml forked_nvml{nvml::kUninitialized};
std::atomic<bool> forked{false};  // from a process that had opened its backend

State* open() {
  report_at_exit();
  auto* state = new State;
  auto chosen = choose_backend();
  if (chosen) {
    state->backend = std::move(chosen).value();
    state->driver = &state->backend->driver();
    state->nvml = &state->backend->nvml();
  } else {
    std::fprintf(stderr, "tidegate: no simulated card: %s\n", chosen.error().message.c_str());
    state->driver = &no_device;
    state->nvml = &no_nvml;
  }
  (void)pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  return state;
}

const State& state() {
  static const State* const opened = open();
  return *opened;
}

}  // namespace

driver::Driver& driver() { return forked.load(std::memory_order_relaxed) ? forked_driver : *state().driver; }
driver::Nvml& nvml() { return forked.load(std::memory_order_relaxed) ? forked_nvml : *state().nvml; }

}  // namespace tidegate::front
