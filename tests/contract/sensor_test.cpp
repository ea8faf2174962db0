// The sensors on simulated cards, and two of the system's with sources of the test's own.
#include <cstring>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include "sim/machine.h"
#include "sim/windows_answers.h"
#include "src/base/virtual_executor.h"
#include "tests/contract/sensor_contract.h"
#include "tests/support/failing_nvml.h"
#include "tests/support/simulated_windows.h"
#include "tests/support/temp_folder.h"

namespace tidegate::contract {
namespace {

// A card with two processes; a smaller one before it, so that whoever goes by number reads the wrong one.
class SimulatedWorld : public SensorWorld {
 public:
  explicit SimulatedWorld(const char* profile) : machine_(executor_, 1) {
    sim::Profile small = sim::load_profile(profile).value();
    small.total /= 2;
    machine_.add_card(small);
    machine_.add_card(sim::load_profile(profile).value());
    own_ = &machine_.start_process("own");
    other_ = &machine_.start_process("other");
    open(*other_);
    open(*own_);
  }
  share::Sensor& sensor() override { return *sensor_; }
  void take(Bytes bytes) override { grow(*own_, bytes); }
  void take_as_other(Bytes bytes) override {
    grow(*other_, bytes);
    enter(*own_);
  }
  void fail(bool fails) override {
    own_->injections.clear();
    if (fails) own_->fail_calls(driver::FunctionId::mem_get_info, cu::kUnknown, 1000);
  }
  std::uint64_t submissions() override {
    const sim::Stats stats = own_->stats();
    std::uint64_t all = 0;
    for (const auto id :
         {driver::FunctionId::launch_kernel, driver::FunctionId::memset_d8_async, driver::FunctionId::memcpy_htod_async,
          driver::FunctionId::memcpy_dtoh_async, driver::FunctionId::memcpy_dtod_async, driver::FunctionId::ctx_create,
          driver::FunctionId::device_primary_ctx_retain}) {
      all += stats.calls[static_cast<std::size_t>(id)];
    }
    return all;
  }

 protected:
  static constexpr int kCard = 1;

  base::VirtualExecutor executor_{1};
  sim::Machine machine_;
  sim::Process* own_ = nullptr;
  sim::Process* other_ = nullptr;
  std::unique_ptr<share::Sensor> sensor_;

 private:
  static void must(cu::Status status) { ASSERT_EQ(status, cu::kSuccess); }
  void open(sim::Process& process) {
    must(process.driver().init(0));
    enter(process);
  }
  void enter(sim::Process& process) {
    cu::Context context = nullptr;
    must(process.driver().device_primary_ctx_retain(&context, kCard));
    must(process.driver().ctx_set_current(context));
  }
  void grow(sim::Process& process, Bytes bytes) {
    enter(process);
    cu::DevicePtr at = 0;
    must(process.driver().mem_alloc(&at, bytes));
    must(process.driver().memset_d8_async(at, 1, bytes, nullptr));
    must(process.driver().stream_synchronize(nullptr));
  }
};

class Driver final : public SimulatedWorld {
 public:
  Driver(const char* profile, bool windows) : SimulatedWorld(profile) {
    sensor_ = share::driver_sensor(own_->driver(), share::blindness_prior(windows, false, "6.1.0"));
  }
};

class Nvml final : public SimulatedWorld {
 public:
  Nvml(const char* profile, bool second) : SimulatedWorld(profile), nvml_(own_->nvml()) {
    EXPECT_EQ(nvml_.init(), nvml::kSuccess);
    nvml_.has_second = second;
    sensor_ = share::nvml_sensor(nvml_, machine_.uuid(kCard));
  }
  void fail(bool fails) override { nvml_.fails = fails; }

 private:
  testkit::FailingNvml nvml_;
};

class Windows final : public SimulatedWorld {
 public:
  explicit Windows(bool dxgi) : SimulatedWorld("rtx4060ti-16g-wddm"), windows_(*own_, kCard) {
    sensor_ = dxgi ? share::dxgi_sensor(&windows_) : share::d3dkmt_sensor(&windows_);
  }
  void fail(bool fails) override { windows_.fails = fails; }

 private:
  testkit::SimulatedWindows windows_;
};

class HostMemory final : public SensorWorld {
 public:
  share::Sensor& sensor() override { return *sensor_; }
  void take(Bytes bytes) override { memory_.available -= bytes; }
  void take_as_other(Bytes bytes) override { memory_.available -= bytes; }
  void fail(bool fails) override { memory_.source = fails ? "" : "MemAvailable"; }

 private:
  base::HostMemory memory_{32 * kGiB, "MemAvailable"};
  std::unique_ptr<share::Sensor> sensor_ = share::mem_available_sensor(true, [this] { return memory_; });
};

// A program in nvidia-smi's place, which checks that it is asked by the card's UUID.
class Smi final : public SensorWorld {
 public:
  Smi() {
    program_ =
        folder_.write("smi", "#!/bin/sh\n[ \"$1\" = --id=GPU-00000000-0000-0000-0000-000000000000 ] || exit 6\ncat " +
                                 folder_.path("answer") + "\n");
    (void)::chmod(program_.c_str(), 0755);
    fail(false);
    sensor_ = share::nvidia_smi_sensor(cu::Uuid{}, 20 * base::kSecond, program_);
  }
  share::Sensor& sensor() override { return *sensor_; }
  void take(Bytes bytes) override {
    free_ -= bytes / kMiB;
    fail(false);
  }
  void take_as_other(Bytes bytes) override { take(bytes); }
  void fail(bool fails) override {
    (void)folder_.write("answer", fails ? "No devices were found\n" : std::to_string(free_) + ", 24576\n");
  }

 private:
  test::TempFolder folder_;
  std::string program_;
  std::uint64_t free_ = 20'000;
  std::unique_ptr<share::Sensor> sensor_;
};

template <typename World, auto... arguments>
std::unique_ptr<SensorWorld> make() {
  return std::make_unique<World>(arguments...);
}
constexpr const char kLinux[] = "rtx3090-24g-linux";
constexpr const char kWindows[] = "rtx4060ti-16g-wddm";

TG_SENSOR_CONTRACT(NvmlSecondLinux, "NVML", Scope::kDevice, (make<Nvml, kLinux, true>));
TG_SENSOR_CONTRACT(NvmlFirstLinux, "NVML", Scope::kDevice, (make<Nvml, kLinux, false>));
TG_SENSOR_CONTRACT(NvmlSecondWddm, "NVML", Scope::kDevice, (make<Nvml, kWindows, true>));
TG_SENSOR_CONTRACT(DriverLinux, "cuMemGetInfo", Scope::kDevice, (make<Driver, kLinux, false>));
TG_SENSOR_CONTRACT(DriverWddm, "cuMemGetInfo", Scope::kProcess, (make<Driver, kWindows, true>));
TG_SENSOR_CONTRACT(Dxgi, "DXGI", Scope::kProcess, (make<Windows, true>));
TG_SENSOR_CONTRACT(D3dkmt, "D3DKMT", Scope::kDevice, (make<Windows, false>));
TG_SENSOR_CONTRACT(MemAvailable, "MemAvailable", Scope::kDevice, make<HostMemory>);
TG_SENSOR_CONTRACT(NvidiaSmi, "nvidia-smi", Scope::kDevice, make<Smi>);

// What the suite cannot ask of all: each implementation's own ways to have nothing to say.
TEST(Sensors, MissingSourcesSaySo) {
  for (const auto& sensor : {share::dxgi_sensor(nullptr).release(), share::d3dkmt_sensor(nullptr).release(),
                             share::mem_available_sensor(false).release()}) {
    const std::unique_ptr<share::Sensor> owned(sensor);
    const auto read = owned->read();
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::kNotFound);
    EXPECT_NE(read.error().message.find(owned->name()), std::string::npos);
  }
  const auto none = share::nvidia_smi_sensor(cu::Uuid{}, base::kSecond, "no-such-program-of-tidegate");
  ASSERT_FALSE(none->read());
  EXPECT_EQ(none->read().error().code, Errc::kNotFound);
}

TEST(Sensors, NvidiaSmiIsKilledAtItsDeadline) {
  const test::TempFolder folder;
  const std::string program = folder.write("smi", "#!/bin/sh\nexec sleep 1000\n");
  (void)::chmod(program.c_str(), 0755);
  const auto read = share::nvidia_smi_sensor(cu::Uuid{}, 50 * base::kMillisecond, program)->read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kTimeout) << read.error().message;
}

// Wine answers success and writes nothing: not a card with nothing free.
TEST(Sensors, D3dkmtTakesAnUntouchedAnswerForNone) {
  for (const bool zeros : {false, true}) {
    testkit::SilentWindows windows(zeros);
    EXPECT_FALSE(share::d3dkmt_sensor(&windows)->read());
    EXPECT_FALSE(share::dxgi_sensor(&windows)->read());
  }
}

}  // namespace
}  // namespace tidegate::contract
