// A simulated card for tests of the pager: on any executor, with a small mapping granularity so that worlds are small,
// and with a driver in front that can fail. The pager sees faulty(); the test itself works on raw().
#pragma once

#include <string>
#include <utility>

#include "sim/demotion.h"
#include "sim/machine.h"
#include "tests/support/faulty_driver.h"
#include "tidegate/card.h"

namespace tidegate::testkit {

// rtx3050-6g-linux with this granularity (2 MiB is the real one) and less memory.
inline sim::Profile small_profile(Bytes granularity = 64 * kKiB, Bytes total = 512 * kMiB) {
  sim::Profile profile = sim::load_profile("rtx3050-6g-linux").value();
  profile.granularity = granularity;
  profile.total = total;
  profile.reserved = 0;
  profile.context = 16 * kMiB;
  return profile;
}

class TestCard final : public Card {
 public:
  TestCard(base::Executor& executor, const sim::Profile& profile, std::uint64_t seed, sim::MachineOptions options = {})
      : executor_(executor),
        profile_(profile),
        machine_(executor, seed, options),
        process_((machine_.add_card(profile), machine_.start_process("test"))),
        faulty_(process_.driver(), seed ^ 0x7A51C0DEull) {
    (void)raw().init(0);
    (void)raw().device_primary_ctx_retain(&context_, 0);
    (void)raw().ctx_set_current(context_);
  }

  driver::Driver& driver() override { return faulty_; }
  base::Executor& executor() override { return executor_; }
  const std::string& name() const override { return profile_.name; }
  bool simulated() const override { return true; }
  int device() const override { return 0; }
  Bytes total_bytes() const override { return profile_.cuda_total(); }
  bool paged_by_system() const override { return profile_.managed_by_windows(); }
  std::optional<Demotion> demotion() override { return sim::demotion(process_); }
  Result<void> make_current() override {
    const cu::Status status = faulty_.ctx_set_current(context_);
    if (status != cu::kSuccess) return Error{Errc::kDriver, "cuCtxSetCurrent", static_cast<int>(status)};
    return {};
  }

  driver::Driver& raw() { return process_.driver(); }
  FaultyDriver& faulty() { return faulty_; }
  sim::Machine& machine() { return machine_; }
  sim::Process& process() { return process_; }
  cu::Context context() const { return context_; }

  Bytes free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    (void)raw().mem_get_info(&free, &total);
    return free;
  }

 private:
  base::Executor& executor_;
  sim::Profile profile_;
  sim::Machine machine_;
  sim::Process& process_;
  FaultyDriver faulty_;
  cu::Context context_ = nullptr;
};

}  // namespace tidegate::testkit
