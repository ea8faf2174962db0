// A broker on a thread of this process, for tests whose clients are threads of it, or its children.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include "sim/remote/broker.h"
#include "sim/remote/connect.h"

namespace tidegate::testkit {

// A socket name that no other test uses.
inline std::string socket_name() {
  static std::atomic<int> next{0};
  return "@tidegate-test-" + std::to_string(::getpid()) + "-" + std::to_string(next++);
}

class BrokerThread {
 public:
  explicit BrokerThread(const char* profile = "rtx3050-6g-linux") : name_(socket_name()) {
    std::promise<void> listening;
    thread_ = std::thread([this, profile, &listening] { run(profile, listening); });
    listening.get_future().wait();
  }
  BrokerThread(const BrokerThread&) = delete;
  BrokerThread& operator=(const BrokerThread&) = delete;
  ~BrokerThread() { finish(); }

  const std::string& name() const { return name_; }
  std::unique_ptr<sim::Backend> connect() const {
    auto made = sim::connect_backend(name_);
    if (!made) stop_all(made.error().message);
    return std::move(made).value();
  }

  // Ends it; the clients should have gone. What the machine saw is known from then on.
  void finish() {
    if (!thread_.joinable()) return;
    if (broker_ != nullptr) broker_->stop();
    thread_.join();
  }
  const sim::Hazards& hazards() const { return hazards_; }
  Bytes used() const { return used_; }

 private:
  [[noreturn]] static void stop_all(const std::string& why) {
    std::fprintf(stderr, "no broker: %s\n", why.c_str());
    std::abort();
  }

  void run(const char* profile, std::promise<void>& listening) {
    base::VirtualExecutor executor(1);
    sim::Machine machine(executor, 1);
    machine.add_card(sim::load_profile(profile).value());
    sim::remote::BrokerOptions options;
    options.follow_descendants = false;
    auto made = sim::remote::Broker::listen(executor, machine, name_, std::move(options));
    if (!made) stop_all(made.error().message);
    broker_ = made.value().get();
    listening.set_value();
    made.value()->run([](std::size_t) { return false; });
    hazards_ = machine.hazards();
    used_ = machine.used();
  }

  const std::string name_;
  sim::remote::Broker* broker_ = nullptr;
  sim::Hazards hazards_;
  Bytes used_ = 0;
  std::thread thread_;
};

}  // namespace tidegate::testkit
