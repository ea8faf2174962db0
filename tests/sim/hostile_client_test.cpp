// What a client of the broker may send, however odd, harms nobody else (I8).
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "sim/remote/connection.h"
#include "sim/remote/marshal.h"
#include "src/base/checksum.h"
#include "tests/support/broker_thread.h"

namespace tidegate {
namespace {

using base::Random;

// A number that is likely to be wrong, now and then one that was right shortly before.
std::uint64_t odd_number(Random& random, const std::vector<std::uint64_t>& seen) {
  constexpr std::uint64_t kOdd[] = {0,
                                    1,
                                    2,
                                    3,
                                    511,
                                    4096,
                                    kMiB,
                                    2 * kMiB,
                                    64 * kMiB,
                                    kGiB,
                                    std::uint64_t{1} << 40,
                                    (std::uint64_t{1} << 63) - 1,
                                    std::uint64_t{1} << 63,
                                    ~std::uint64_t{0},
                                    4112,
                                    4128};
  const std::uint64_t pick = random.below(4);
  if (pick == 0) return random.next();
  if (pick == 1 && !seen.empty()) return seen[random.below(seen.size())];
  return kOdd[random.below(std::size(kOdd))];
}

// Calls every function with values of its types.
class Hostile {
 public:
  explicit Hostile(std::uint64_t seed) : random_(seed) {}

  template <typename Target, typename Status, typename... P>
  void call(Target& target, Status (Target::*method)(P...)) {
    std::tuple<P...> values{make<P>()...};
    const Status status = std::apply([&](P... each) { return (target.*method)(each...); }, values);
    if (status == 0) std::apply([&](P... each) { (remember(each), ...); }, values);
  }

 private:
  // Room for whatever a function may give back through a pointer.
  using Room = std::array<unsigned char, 64 * 1024>;

  template <typename P>
  P make() {
    if constexpr (std::is_arithmetic_v<P> || std::is_enum_v<P>) {
      return static_cast<P>(odd_number(random_, seen_));
    } else if constexpr (sim::remote::is_handle_v<P>) {
      return reinterpret_cast<P>(odd_number(random_, seen_));
    } else if constexpr (std::is_same_v<P, const char*>) {
      return random_.below(2) == 0 ? nullptr : "tidegate_checksum";
    } else if constexpr (std::is_same_v<P, const void*>) {
      return reinterpret_cast<P>(random_.below(2) == 0 ? odd_number(random_, seen_) : address_of_room());
    } else {  // written to, or read from, here: null or good
      return random_.below(8) == 0 ? nullptr : reinterpret_cast<P>(address_of_room());
    }
  }
  std::uint64_t address_of_room() {
    Room& room = rooms_[next_++ % rooms_.size()];
    for (std::size_t i = 0; i < 64; i += 8) {
      const std::uint64_t word = odd_number(random_, seen_);
      std::memcpy(room.data() + i, &word, sizeof word);
    }
    return reinterpret_cast<std::uintptr_t>(room.data());
  }
  template <typename P>
  void remember(P value) {
    if constexpr (std::is_pointer_v<P> && !sim::remote::is_handle_v<P>) {
      std::uint64_t word = 0;
      if (value == nullptr || !in_rooms(value)) return;
      std::memcpy(&word, static_cast<const void*>(value), sizeof word);
      if (seen_.size() < 64) seen_.push_back(word);
    }
  }
  bool in_rooms(const void* at) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(rooms_.data());
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return address >= begin && address < begin + sizeof rooms_;
  }

  Random random_;
  std::vector<std::uint64_t> seen_;
  std::size_t next_ = 0;
  alignas(16) std::array<Room, 8> rooms_{};
};

void expect_fine(sim::Backend& honest) {
  cu::Context context = nullptr;
  driver::Driver& cuda = honest.driver();
  EXPECT_EQ(cuda.init(0), cu::kSuccess);
  EXPECT_EQ(cuda.device_primary_ctx_retain(&context, 0), cu::kSuccess);
  EXPECT_EQ(cuda.ctx_set_current(context), cu::kSuccess);
  cu::DevicePtr at = 0;
  std::vector<unsigned char> out(4096, 7);
  std::vector<unsigned char> back(4096);
  EXPECT_EQ(cuda.mem_alloc(&at, 4096), cu::kSuccess);
  EXPECT_EQ(cuda.memcpy_htod_async(at, out.data(), 4096, nullptr), cu::kSuccess);
  EXPECT_EQ(cuda.memcpy_dtoh_async(back.data(), at, 4096, nullptr), cu::kSuccess);
  EXPECT_EQ(out, back);
  EXPECT_EQ(cuda.mem_free(at), cu::kSuccess);
  EXPECT_EQ(cuda.device_primary_ctx_release(0), cu::kSuccess);
}

TEST(HostileClient, OddValuesInEveryFunction) {
  testkit::BrokerThread broker;
  const auto honest = broker.connect();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto backend = broker.connect();
    const auto hostile = std::make_unique<Hostile>(seed);
    cu::Context context = nullptr;
    ASSERT_EQ(backend->driver().init(0), cu::kSuccess);
    ASSERT_EQ(backend->driver().device_primary_ctx_retain(&context, 0), cu::kSuccess);
    ASSERT_EQ(backend->nvml().init(), nvml::kSuccess);
    for (int round = 0; round < 8; ++round) {
      // Some of the calls take it away again.
      (void)backend->driver().ctx_set_current(context);
#define TG_CALL(method, symbol, need, parameters, arguments) hostile->call(backend->driver(), &driver::Driver::method);
      TG_CUDA_FUNCTIONS(TG_CALL)
#undef TG_CALL
#define TG_CALL(method, symbol, need, parameters, arguments) hostile->call(backend->nvml(), &driver::Nvml::method);
      TG_NVML_FUNCTIONS(TG_CALL)
#undef TG_CALL
    }
    expect_fine(*honest);
  }
}

TEST(HostileClient, RandomRequestsEndTheirSender) {
  testkit::BrokerThread broker;
  const auto honest = broker.connect();
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    auto connection = sim::remote::Connection::open(broker.name());
    ASSERT_TRUE(connection.ok());
    sim::remote::Writer request;
    request.put(static_cast<std::uint32_t>(random.below(5)));
    request.put(static_cast<std::uint32_t>(random.below(100)));
    for (std::uint64_t left = random.below(200); left > 0; --left) {
      request.put(static_cast<unsigned char>(random.below(3) == 0 ? random.next() : 0));
    }
    std::vector<unsigned char> reply;
    (void)connection.value()->call(request, reply);
  }
  expect_fine(*honest);
}

TEST(HostileClient, OtherFilesThanChannelsAreRefused) {
  testkit::BrokerThread broker;
  const auto honest = broker.connect();
  auto socket = base::connect_to(broker.name());
  ASSERT_TRUE(socket.ok());
  const base::FileHandle wrong = base::make_wake();
  EXPECT_TRUE(base::send_message(socket.value(), "c", 1, wrong.get()));
  while (!base::peer_closed(socket.value())) base::wait_readable({socket.value().get()}, base::kSecond);
  expect_fine(*honest);
}

}  // namespace
}  // namespace tidegate
