#include "src/driver/errors.h"
#include "src/share/sensor.h"

namespace tidegate::share {
namespace {

class DriverSensor final : public Sensor {
 public:
  DriverSensor(driver::Driver& driver, Prior prior) : driver_(driver), prior_(std::move(prior)) {}

  const char* name() const override { return "cuMemGetInfo"; }

  Result<Reading> read() override {
    std::size_t free = 0;
    std::size_t total = 0;
    const driver::Status status = driver_.mem_get_info(&free, &total);
    if (status != driver::kSuccess) return driver::driver_error(driver_, status, "cuMemGetInfo");
    Reading reading;
    reading.scope = prior_.scope;
    reading.assumed = true;
    reading.free = free;
    reading.total = total;
    reading.why = prior_.why;
    return reading;
  }

 private:
  driver::Driver& driver_;
  const Prior prior_;
};

}  // namespace

Prior blindness_prior(bool windows, bool tcc, const std::string& kernel) {
  const bool on_windows = kernel == "Windows";
  if (on_windows && tcc) return {Scope::kDevice, "TCC: the driver's own memory manager counts all processes"};
  if (windows || on_windows) return {Scope::kProcess, "WDDM: a budget less own usage, blind to other processes"};
  if (kernel.find("microsoft") != std::string::npos || kernel.find("Microsoft") != std::string::npos) {
    return {Scope::kProcess, "WSL: Windows' memory manager behind a Linux kernel, blind to other processes"};
  }
  return {Scope::kDevice, "Linux: the driver counts all processes"};
}

std::unique_ptr<Sensor> driver_sensor(driver::Driver& driver, Prior prior) {
  return std::make_unique<DriverSensor>(driver, std::move(prior));
}

}  // namespace tidegate::share
