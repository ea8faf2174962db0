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
  DriverUnderTest under_test;
  under_test.owner = remote;
  under_test.driver = &remote->backend->driver();
  under_test.simulated = true;
  // A costly call: its virtual time passes, so that few of them do.
  under_test.pause = [driver = under_test.driver] {
    std::size_t free = 0;
    std::size_t total = 0;
    (void)driver->mem_get_info(&free, &total);
  };
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
