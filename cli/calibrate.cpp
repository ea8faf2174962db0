#include "cli/calibrate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/device_buffer.h"

namespace tidegate::cli {
namespace {

constexpr Bytes kLinkProbe = 256 * kMiB;
constexpr Bytes kChecksumProbe = 32 * kMiB;
constexpr Bytes kSmallProbe = 512;
constexpr int kRounds = 11;  // an odd number: the median is one of them
constexpr double kAssumedHertz = 1.5e9;

// FLOPs a clock of one multiprocessor: dense bf16 on tensor cores, summed in fp32. From NVIDIA's architecture papers
// (V100, A100, GA102, AD102, H100, B200, GB202).
double flops_per_clock(int major, int minor) {
  if (major == 8 && minor == 0) return 2048;
  if (major == 9) return 4096;
  if (major == 10) return 8192;
  if (major == 7) return minor == 0 ? 1024 : 512;
  return 512;
}

template <typename Submit>
Result<double> median_seconds(driver::Driver& driver, OwnedStream& stream, Submit&& submit) {
  EventPool events(driver);
  if (auto made = events.grow(2); !made) return made.error();
  std::vector<double> seconds;
  for (int round = -1; round < kRounds; ++round) {  // the first one wakes the card up
    if (auto done = events.record(0, stream.get()); !done) return done.error();
    if (auto done = checked(driver, submit(), "a probe of the card"); !done) return done.error();
    if (auto done = events.record(1, stream.get()); !done) return done.error();
    if (auto done = stream.synchronize(); !done) return done.error();
    const auto took = events.seconds_between(0, 1);
    if (!took) return took.error();
    if (round >= 0) seconds.push_back(took.value());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return seconds[kRounds / 2];
}

Result<void> measure_link(driver::Driver& driver, OwnedStream& stream, Calibration& out) {
  PinnedBuffer host(driver);
  DeviceBuffer device(driver);
  if (auto made = host.allocate(kLinkProbe); !made) return made;
  if (auto made = device.allocate(kLinkProbe); !made) return made;
  const auto seconds = median_seconds(driver, stream, [&] {
    return driver.memcpy_htod_async(device.address(), host.data(), kLinkProbe, stream.get());
  });
  if (!seconds) return seconds.error();
  out.link_bytes_per_second = static_cast<double>(kLinkProbe) / std::max(seconds.value(), 1e-9);
  out.link_kind = "measured";
  return {};
}

Result<void> measure_checksum(driver::Driver& driver, OwnedStream& stream, const driver::CheckKernels& kernels,
                              Calibration& out) {
  DeviceBuffer device(driver);
  if (auto made = device.allocate(kChecksumProbe + 8); !made) return made;
  const auto sum_at = device.address() + kChecksumProbe;
  const auto cleared = driver.memset_d8_async(device.address(), 0, kChecksumProbe + 8, stream.get());
  if (auto done = checked(driver, cleared, "cuMemsetD8Async"); !done) return done;
  const auto time = [&](Bytes bytes) {
    return median_seconds(
        driver, stream, [&] { return kernels.launch_checksum(driver, device.address(), bytes, sum_at, stream.get()); });
  };
  const auto small = time(kSmallProbe);
  if (!small) return small.error();
  const auto large = time(kChecksumProbe);
  if (!large) return large.error();
  out.checksum_fixed_ns = small.value() * 1e9;
  out.checksum_ns_per_byte =
      std::max(large.value() - small.value(), 0.0) * 1e9 / static_cast<double>(kChecksumProbe - kSmallProbe);
  return {};
}

Result<void> assume_flops(driver::Driver& driver, Calibration& out) {
  driver::Device device = 0;
  int count = 0;
  int major = 0;
  int minor = 0;
  auto status = driver.ctx_get_device(&device);
  if (status == driver::kSuccess) {
    status = driver.device_get_attribute(&count, driver::kAttrMultiprocessorCount, device);
  }
  if (status == driver::kSuccess) {
    status = driver.device_get_attribute(&major, driver::kAttrComputeCapabilityMajor, device);
  }
  if (status == driver::kSuccess) {
    status = driver.device_get_attribute(&minor, driver::kAttrComputeCapabilityMinor, device);
  }
  if (status != driver::kSuccess) return driver::driver_error(driver, status, "asking for the card's generation");
  out.flops_per_second = count * flops_per_clock(major, minor) * kAssumedHertz;
  out.flops_kind =
      fmt::format("assumed: {} multiprocessors x {:.0f} FLOPs a clock x 1.5 GHz", count, flops_per_clock(major, minor));
  return {};
}

}  // namespace

Result<Calibration> calibrate(ChosenCard& chosen, const driver::CheckKernels& kernels, double tflops) {
  driver::Driver& driver = chosen.card->driver();
  Calibration out;
  OwnedStream stream(driver);
  if (auto made = stream.create(); !made) return made.error();
  if (chosen.sim != nullptr) {
    out.link_bytes_per_second = chosen.sim->profile().h2d_gb_per_s * 1e9;
    out.link_kind = "modelled";
  } else if (auto measured = measure_link(driver, stream, out); !measured) {
    return measured.error();
  }
  if (auto measured = measure_checksum(driver, stream, kernels, out); !measured) return measured.error();
  if (tflops > 0) {
    out.flops_per_second = tflops * 1e12;
    out.flops_kind = "as asked";
  } else if (auto assumed = assume_flops(driver, out); !assumed) {
    return assumed.error();
  }
  return out;
}

}  // namespace tidegate::cli
