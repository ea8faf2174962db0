// The real card, where there is one.
#include <thread>

#include "src/driver/cuda_driver.h"
#include "tests/contract/driver_contract.h"

namespace tidegate::contract {
namespace {

Result<DriverUnderTest> make_cuda() {
  Result<std::unique_ptr<driver::Driver>> loaded = driver::load_cuda_driver();
  if (!loaded) return loaded.error();
  const std::shared_ptr<driver::Driver> real = std::move(loaded).value();
  DriverUnderTest under_test;
  under_test.owner = real;
  under_test.driver = real.get();
  under_test.pause = [] { std::this_thread::yield(); };
  return under_test;
}

}  // namespace

TG_DRIVER_CONTRACT(Cuda, make_cuda);

}  // namespace tidegate::contract
