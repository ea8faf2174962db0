// The broker: serves a simulated machine to other processes over a socket. `tidegate sim exec` is one. Linux.
//
// Each client process is one simulated process, each of its threads that calls one activity of the world. Time and
// order are the world's: see docs/broker.md for when a call is served, and for what a client can and cannot break.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/machine.h"
#include "sim/remote/peer_host.h"
#include "src/base/call_channel.h"
#include "src/base/local_socket.h"
#include "src/base/process_tree.h"
#include "src/base/virtual_executor.h"

namespace tidegate::sim::remote {

struct BrokerOptions {
  // Serve a call only when every thread of every descendant of this process waits or sleeps: same seed, same run. Off:
  // calls are served as they arrive, from any process of this user.
  bool follow_descendants = true;
  // Called when one of `files` may be read, at a moment when nothing runs in the world. True: finished() is to be
  // asked.
  std::vector<int> files;
  std::function<bool()> on_readable;
};

// What is known of a client process after it has gone.
struct ClientReport {
  int id = 0;  // the simulated process's
  int pid = 0;
  std::string name;
  Stats stats;
};

class Broker final : public base::Outside, private base::Task {
 public:
  // The executor's virtual thread 0 constructs, runs and destroys it; both must outlive it. Errors: kIo,
  // kInvalidArgument.
  static Result<std::unique_ptr<Broker>> listen(base::VirtualExecutor& executor, Machine& machine,
                                                const std::string& socket_name, BrokerOptions options);
  ~Broker() override;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // Serves until finished(clients) says so, which is asked whenever something outside changed, or until stop(); the
  // clients that are left then are treated as dead. Virtual thread 0.
  void run(const std::function<bool(std::size_t clients)>& finished);
  void stop();  // any thread

  // Of the clients that have gone, in the order in which they came; the first kKeepReports.
  const std::vector<ClientReport>& reports() const { return reports_; }
  // Of all that have gone.
  const Stats& totals() const { return totals_; }
  static constexpr std::size_t kKeepReports = 1024;
  static constexpr std::size_t kMostChannels = 1024;  // threads of one client

 private:
  struct Client;
  struct Channel;

  Broker(base::VirtualExecutor& executor, Machine& machine, base::FileHandle listener, BrokerOptions options);

  void settle() override;
  void wait(base::Nanos timeout) override;
  const char* name() const override { return "broker"; }
  base::Nanos step(base::Nanos now) override;

  std::vector<int> watched_files() const;
  bool drain();
  bool drain_client(Client& client);
  bool all_asleep() const;
  void admit();
  void let_in(Client& client);
  void start(Channel& channel);
  void serve(Channel& channel);
  void bury(Client& client);

  base::VirtualExecutor& executor_;
  Machine& machine_;
  const BrokerOptions options_;
  base::FileHandle listener_;
  base::FileHandle wake_;
  std::atomic<bool> stopping_{false};
  bool closing_ = false;   // nobody is waited for or let in any more
  bool unsettled_ = true;  // somebody outside may have run since the last look
  std::vector<std::unique_ptr<Client>> clients_;
  base::Mutex mutex_;
  base::WaitPoint changed_;
  std::vector<ClientReport> reports_;
  Stats totals_;
};

}  // namespace tidegate::sim::remote
