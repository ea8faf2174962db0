// A driver that fails on order: at random with a probability per function, or the next calls of one function.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "src/base/checksum.h"
#include "src/driver/intercept.h"

namespace tidegate::testkit {

using driver::FunctionId;

// Thread-safe. Counts what goes through it, failed calls included.
class FaultyDriver final : public driver::Interceptor {
 public:
  FaultyDriver(driver::Driver& next, std::uint64_t seed) : Interceptor(next), random_(seed) {}

  // From now on each call of `id` fails with this probability, in 1/65536, half of the time with NOT_READY, else with
  // OUT_OF_MEMORY.
  void set_probability(FunctionId id, unsigned per_65536) { plan(id).per_65536 = per_65536; }
  // Random failures happen only while armed.
  void arm(bool on) { armed_.store(on); }
  // The calls number skip + 1 ... skip + times of `id` answer `status`.
  void fail_next(FunctionId id, cu::Status status, std::uint64_t times = 1, std::uint64_t skip = 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Plan& planned = plan(id);
    planned.status = status;
    planned.times = times;
    planned.skip = skip;
  }

  std::uint64_t calls(FunctionId id) const { return calls_[static_cast<std::size_t>(id)].load(); }
  std::uint64_t failed() const { return failed_.load(); }

 protected:
  std::optional<cu::Status> before(FunctionId id) override {
    calls_[static_cast<std::size_t>(id)].fetch_add(1);
    const std::lock_guard<std::mutex> lock(mutex_);
    Plan& planned = plan(id);
    if (planned.times > 0) {
      if (planned.skip > 0) {
        --planned.skip;
      } else {
        --planned.times;
        failed_.fetch_add(1);
        return planned.status;
      }
    }
    if (!armed_.load() || planned.per_65536 == 0 || random_.below(65536) >= planned.per_65536) return std::nullopt;
    failed_.fetch_add(1);
    return random_.below(2) == 0 ? cu::kNotReady : cu::kOutOfMemory;
  }

 private:
  struct Plan {
    unsigned per_65536 = 0;
    cu::Status status = cu::kSuccess;
    std::uint64_t times = 0;
    std::uint64_t skip = 0;
  };
  Plan& plan(FunctionId id) { return plans_[static_cast<std::size_t>(id)]; }

  std::mutex mutex_;
  base::Random random_;
  std::array<Plan, driver::kFunctionCount> plans_{};
  std::array<std::atomic<std::uint64_t>, driver::kFunctionCount> calls_{};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<bool> armed_{false};
};

}  // namespace tidegate::testkit
