// Sensors that the system answers rather than the driver: the host's memory, and the program nvidia-smi.
#include <cstdio>
#include <utility>

#include "src/base/piped_program.h"
#include "src/share/sensor.h"

namespace tidegate::share {
namespace {

class MemAvailableSensor final : public Sensor {
 public:
  MemAvailableSensor(bool integrated, std::function<base::HostMemory()> look)
      : integrated_(integrated), look_(std::move(look)) {}
  const char* name() const override { return "MemAvailable"; }

  Result<Reading> read() override {
    if (!integrated_) return Error{Errc::kNotFound, "MemAvailable: the card has memory of its own"};
    const base::HostMemory memory = look_();
    if (memory.source.empty()) return Error{Errc::kIo, "MemAvailable: the system does not tell"};
    Reading reading;
    reading.scope = Scope::kDevice;
    reading.free = memory.available;
    reading.why = "MemAvailable: an integrated card shares the host's memory (" + memory.source + ")";
    return reading;
  }

 private:
  const bool integrated_;
  const std::function<base::HostMemory()> look_;
};

class NvidiaSmiSensor final : public Sensor {
 public:
  NvidiaSmiSensor(const cu::Uuid& uuid, base::Nanos deadline, std::string program)
      : words_{std::move(program), "--id=" + uuid_text(uuid), "--query-gpu=memory.free,memory.total",
               "--format=csv,noheader,nounits"},
        deadline_(deadline) {}
  const char* name() const override { return "nvidia-smi"; }
  bool last_resort() const override { return true; }

  Result<Reading> read() override {
    auto output = base::output_of(words_, deadline_);
    if (!output) return Error{output.error().code, "nvidia-smi: " + output.error().message};
    unsigned long long free = 0;
    unsigned long long total = 0;
    int end = 0;
    const std::string& text = output.value();
    if (std::sscanf(text.c_str(), " %llu , %llu %n", &free, &total, &end) != 2 || text[0] == '-' ||
        static_cast<std::size_t>(end) != text.size()) {
      return Error{Errc::kBadFile, "nvidia-smi: unexpected output: " + text.substr(0, text.find('\n'))};
    }
    Reading reading;
    reading.scope = Scope::kDevice;
    reading.free = free * kMiB;
    reading.total = total * kMiB;
    reading.why = "nvidia-smi: NVML asked by another program";
    return reading;
  }

 private:
  const std::vector<std::string> words_;
  const base::Nanos deadline_;
};

}  // namespace

std::unique_ptr<Sensor> mem_available_sensor(bool integrated, std::function<base::HostMemory()> look) {
  return std::make_unique<MemAvailableSensor>(integrated, std::move(look));
}

std::unique_ptr<Sensor> nvidia_smi_sensor(const cu::Uuid& uuid, base::Nanos deadline, std::string program) {
  return std::make_unique<NvidiaSmiSensor>(uuid, deadline, std::move(program));
}

}  // namespace tidegate::share
