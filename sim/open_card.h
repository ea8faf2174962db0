// A simulated card with its world around it: a virtual clock, a machine of one card, one process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/demotion.h"
#include "sim/machine.h"
#include "src/base/virtual_executor.h"
#include "tidegate/card.h"

namespace tidegate::sim {

struct SimCardOptions {
  std::uint64_t seed = 1;
  double pace = 0;  // base::VirtualOptions::pace: 1 runs in real time
  MachineOptions machine;
};

// As tidegate::Card. The thread that opens it is the world's first activity.
class SimCard final : public tidegate::Card {
 public:
  // Errors: kNotFound (with the names that exist), kBadFile, kDriver.
  static Result<std::unique_ptr<SimCard>> open(const std::string& profile, const SimCardOptions& options);
  ~SimCard() override;

  driver::Driver& driver() override;
  base::Executor& executor() override { return executor_; }
  const std::string& name() const override { return profile_.name; }
  bool simulated() const override { return true; }
  int device() const override { return 0; }
  Bytes total_bytes() const override { return profile_.cuda_total(); }
  Result<void> make_current() override;
  bool paged_by_system() const override { return profile_.managed_by_windows(); }
  std::optional<Demotion> demotion() override { return sim::demotion(process_); }

  const Profile& profile() const { return profile_; }
  base::VirtualExecutor& virtual_executor() { return executor_; }
  Machine& machine() { return machine_; }
  Process& process() { return process_; }

 private:
  SimCard(Profile profile, const SimCardOptions& options);
  Result<void> start();

  Profile profile_;
  base::VirtualExecutor executor_;
  Machine machine_;
  Process& process_;
  cu::Context context_ = nullptr;
};

}  // namespace tidegate::sim
