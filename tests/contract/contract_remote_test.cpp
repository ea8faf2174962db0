// The simulated card behind a broker: each call crosses to another thread as it would to another process.
#include "tests/contract/driver_contract.h"
#include "tests/support/broker_thread.h"

namespace tidegate::contract {
namespace {

struct Remote {
  testkit::BrokerThread broker;
  std::unique_ptr<sim::Backend> backend = broker.connect();
};

Result<DriverUnderTest> make_remote() {
  auto remote = std::make_shared<Remote>();
  if (remote->backend == nullptr) return Error{Errc::kIo, "no broker"};
  DriverUnderTest under_test;
  under_test.owner = remote;
  under_test.driver = &remote->backend->driver();
  under_test.simulated = true;
  under_test.pause = [] { std::this_thread::yield(); };
  under_test.finish = [remote = remote.get()] {
    remote->backend.reset();
    remote->broker.finish();
    EXPECT_EQ(remote->broker.hazards().total_hits(), 0u) << remote->broker.hazards().text();
    EXPECT_EQ(remote->broker.used(), 0u) << "bytes still held";
  };
  return under_test;
}

}  // namespace

TG_DRIVER_CONTRACT(Remote, make_remote);

}  // namespace tidegate::contract
