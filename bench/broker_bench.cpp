// What a driver call costs when the card is behind a broker, measured: a call that does next to nothing, and a copy.
//
// In this process, without a broker: what the same call costs where nothing is passed on. By itself: the broker is a
// thread of this process and serves calls as they come. Under `tidegate sim exec --card NAME
// -- broker_bench`: as programs meet it, with the wait until every descendant sleeps.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/local_backend.h"
#include "sim/remote/connect.h"
#include "tests/support/broker_thread.h"

namespace tidegate {
namespace {

void must(cu::Status status, const char* what) {
  if (status == cu::kSuccess) return;
  std::fprintf(stderr, "broker_bench: %s: status %u\n", what, static_cast<unsigned>(status));
  std::exit(1);
}

class Card {
 public:
  Card() {
    const char* name = std::getenv("TIDEGATE_BROKER");
    if (name == nullptr) own_ = std::make_unique<testkit::BrokerThread>();
    auto made = sim::connect_backend(name != nullptr ? name : own_->name());
    if (!made) {
      std::fprintf(stderr, "broker_bench: %s\n", made.error().message.c_str());
      std::exit(1);
    }
    backend_ = std::move(made).value();
    cu::Context context = nullptr;
    must(driver().init(0), "init");
    must(driver().device_primary_ctx_retain(&context, 0), "retain");
    must(driver().ctx_set_current(context), "set current");
  }
  driver::Driver& driver() { return backend_->driver(); }

 private:
  std::unique_ptr<testkit::BrokerThread> own_;
  std::unique_ptr<sim::Backend> backend_;
};

void call_cost(benchmark::State& state) {
  Card card;
  cu::Device device = 0;
  for (auto _ : state) must(card.driver().ctx_get_device(&device), "ctx_get_device");
}
BENCHMARK(call_cost)->UseRealTime()->Unit(benchmark::kMicrosecond);

void call_cost_in_process(benchmark::State& state) {
  auto backend = sim::open_local_backend({.card = "rtx3050-6g-linux"});
  if (!backend) std::exit(1);
  driver::Driver& driver = backend.value()->driver();
  cu::Context context = nullptr;
  must(driver.init(0), "init");
  must(driver.device_primary_ctx_retain(&context, 0), "retain");
  must(driver.ctx_set_current(context), "set current");
  cu::Device device = 0;
  for (auto _ : state) must(driver.ctx_get_device(&device), "ctx_get_device");
}
BENCHMARK(call_cost_in_process)->UseRealTime()->Unit(benchmark::kMicrosecond);

void copy_cost(benchmark::State& state) {
  Card card;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<unsigned char> data(bytes, 1);
  cu::DevicePtr at = 0;
  must(card.driver().mem_alloc(&at, bytes), "mem_alloc");
  for (auto _ : state) must(card.driver().memcpy_htod_async(at, data.data(), bytes, nullptr), "copy");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
  must(card.driver().mem_free(at), "mem_free");
}
BENCHMARK(copy_cost)->Arg(4096)->Arg(64 << 20)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tidegate
