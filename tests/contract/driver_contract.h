// The driver contract suite: what every implementation of driver::Driver must do, real or simulated.
//
// The *_contract.cpp files next to this one hold the tests; an implementation registers itself once, in a file of its
// own, with TG_DRIVER_CONTRACT. Only promises of CUDA's documentation are asserted, and nothing that leaves a real
// context unusable is provoked.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/driver/driver.h"
#include "src/driver/kernels.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::contract {

// One fresh driver with at least one device; init is the suite's to call.
struct DriverUnderTest {
  std::shared_ptr<void> owner;       // what the driver lives in; let go after each test
  driver::Driver* driver = nullptr;  // valid while `owner` is held
  bool simulated = false;            // undefined behaviour may be provoked: it is detected, and harmless

  // Called between two polls: gives up the processor, or lets virtual time pass.
  std::function<void()> pause;
  // Runs all bodies at once and returns when all have returned. Null: one OS thread each.
  std::function<void(std::vector<std::function<void()>>)> run_threads;
  // The implementation's own assertions at a test's end, after everything was freed. May be null.
  std::function<void()> finish;
};

struct Implementation {
  const char* name;
  // kNoDriver, kNoDevice and kDriverTooOld skip the tests by name; other errors fail them.
  Result<DriverUnderTest> (*make)();
};

inline void PrintTo(const Implementation& implementation, std::ostream* out) { *out << implementation.name; }

// Frames mapped side by side, readable and writable, as the arena does it.
class Mapping {
 public:
  Mapping(driver::Driver& driver, const cu::MemProp& prop, Bytes frame_bytes, unsigned frames);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  cu::DevicePtr base() const { return base_; }
  cu::DevicePtr frame(unsigned index) const { return base_ + index * frame_bytes_; }
  cu::MemHandle handle(unsigned index) const { return handles_[index]; }
  Bytes bytes() const { return frame_bytes_ * handles_.size(); }

 private:
  driver::Driver& driver_;
  Bytes frame_bytes_;
  std::vector<cu::MemHandle> handles_;
  cu::DevicePtr base_ = 0;
};

class DriverContract : public testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override;
  void TearDown() override;

  driver::Driver& cuda() { return *under_test_.driver; }

  // Each is freed at the test's end. A failure is a failure of the test.
  cu::Stream make_stream(unsigned flags = cu::kStreamNonBlocking);
  cu::Event make_event(unsigned flags = cu::kEventDisableTiming);
  cu::DevicePtr make_memory(Bytes bytes);
  unsigned char* make_pinned(Bytes bytes);
  const driver::CheckKernels& kernels();

  // Keeps `stream` busy for `milliseconds`; returns at once.
  void keep_busy(cu::Stream stream, unsigned milliseconds);
  // Copies through the stream and waits for it.
  void upload(cu::DevicePtr dst, const std::vector<unsigned char>& bytes, cu::Stream stream);
  std::vector<unsigned char> download(cu::DevicePtr src, Bytes bytes, cu::Stream stream);

  Bytes free_bytes();
  // Waits until at least `bytes` are free: no driver promises that they are when a freeing call returns.
  bool comes_back(Bytes bytes);
  cu::MemAccess read_write() const;
  int attribute(cu::DeviceAttribute attribute);
  void run_threads(std::vector<std::function<void()>> bodies);

  DriverUnderTest under_test_;
  cu::Device device_ = 0;
  cu::Context context_ = nullptr;  // the device's primary context, current on the test's thread
  cu::MemProp prop_{};             // pinned memory of the device
  Bytes grain_ = 0;                // its minimum granularity

 private:
  void warm_up();

  std::vector<cu::Stream> streams_;
  std::vector<cu::Event> events_;
  std::vector<cu::DevicePtr> memory_;
  std::vector<void*> pinned_;
  driver::CheckKernels kernels_;
};

// Bytes that depend on the seed.
std::vector<unsigned char> seeded_bytes(Bytes bytes, std::uint64_t seed);

#define EXPECT_CUDA_OK(call) EXPECT_EQ(call, ::tidegate::cu::kSuccess)
#define ASSERT_CUDA_OK(call) ASSERT_EQ(call, ::tidegate::cu::kSuccess)
#define EXPECT_CUDA_FAILS(call) EXPECT_NE(call, ::tidegate::cu::kSuccess)

inline std::string label_of(const testing::TestParamInfo<Implementation>& tested) { return tested.param.name; }

// Registers an implementation: TG_DRIVER_CONTRACT(Real, make_real_driver). Several may be in one program.
#define TG_DRIVER_CONTRACT(label, make) \
  INSTANTIATE_TEST_SUITE_P(label, DriverContract, testing::Values(Implementation{#label, make}), label_of)

}  // namespace tidegate::contract
