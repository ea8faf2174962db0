// The streams that leases name, and the epochs by which their uses are known to be over.
//
// A release notes (stream, open epoch) and records nothing. Closing an epoch records one event on the stream; when that
// event has passed, every use noted in the epoch or before it is complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/mutex.h"
#include "src/driver/driver.h"
#include "src/pager/uses.h"
#include "tidegate/pager.h"

namespace tidegate {

struct alignas(64) StreamState {
  static constexpr std::size_t kMostClosings = 512;  // recorded and not yet seen to have passed
  // Closing an epoch takes four driver calls; more releases a close would let a copy that wants an old tenant's bytes
  // wait for more of the stream's queue than it has to (bench/lease_bench).
  static constexpr std::uint32_t kReleasesPerEpoch = 64;
  // While nothing is copied nobody is after old tenants' bytes, and an epoch may be longer.
  static constexpr std::uint32_t kReleasesPerQuietEpoch = 1024;

  StreamState(StreamHandle stream, std::uint16_t index) : handle(stream), slot(index), closings(kMostClosings) {}

  const StreamHandle handle;
  const std::uint16_t slot;
  std::atomic<std::uint64_t> epoch{1};      // the open one
  std::atomic<std::uint64_t> completed{1};  // every epoch below this one is complete
  std::atomic<std::uint64_t> waited{0};     // this stream has been made to wait for copies up to this sequence number
  std::atomic<std::uint32_t> releases{0};   // in the open epoch
  std::atomic<std::uint64_t> copies{0};     // issued by all when release() last closed an epoch
  std::atomic<bool> forgotten{false};

  struct Closing {
    std::uint64_t epoch = 0;
    cu::Event event = nullptr;
  };
  base::Mutex mutex;              // guards what follows
  std::vector<Closing> closings;  // a ring: [head, tail) are recorded and not yet seen to have passed
  std::uint64_t head = 0;
  std::uint64_t tail = 0;

  cu::Stream stream() const { return static_cast<cu::Stream>(handle); }
};

namespace pager {

class Streams {
 public:
  explicit Streams(driver::Driver& driver) : driver_(driver) {}
  ~Streams();

  // The state of a stream, made on first sight; lock-free while a thread stays with one stream. Null when more than
  // kMostStreams streams were ever seen.
  StreamState* get(StreamHandle handle);

  // Ends the open epoch by an event on the stream. kNotReady: too many events are outstanding; the epoch stays open.
  cu::Status close(StreamState& stream);
  // The same for a caller that is not the stream's user: refuses with kNotReady while the stream captures a graph.
  cu::Status close_from_outside(StreamState& stream);
  // Closes the use's epoch from outside if it is still the open one.
  void close_if_open(Use use);
  // Looks which closings have passed.
  void poll(StreamState& stream);
  void poll_all();

  bool complete(Use use) const { return slots_[use.slot]->completed.load(std::memory_order_acquire) > use.epoch; }
  bool complete(const UseSet& uses) const;
  // Makes `waiter` wait until the use is over, closing its epoch if it is open.
  cu::Status wait_on(cu::Stream waiter, Use use);

  // The stream goes away: its open epoch is closed now, and later users of the same handle get a new state.
  cu::Status forget(StreamHandle handle);
  // Ends every open epoch and waits, stream by stream, until all are complete.
  void drain();
  // Whether every use that was ever noted is complete, as far as the last poll told; epochs that are open are closed.
  bool silent();
  // Everything released so far is complete.
  void all_complete();

 private:
  void poll_locked(StreamState& stream);
  cu::Status close_locked(StreamState& stream);

  driver::Driver& driver_;
  base::Mutex mutex_;  // guards the growth of slots_
  // A fixed table, so that readers need no lock; slots are never reused, because notes may name them for ever.
  static constexpr std::size_t kMostStreams = 4096;
  std::vector<std::unique_ptr<StreamState>> slots_{kMostStreams};
  std::atomic<std::size_t> count_{0};
  const std::uint64_t identity_ = next_identity();
  static std::uint64_t next_identity();
};

}  // namespace pager
}  // namespace tidegate
