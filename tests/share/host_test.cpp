// Hosts with a blind number: one correction, in both regimes and for any bias; host-arbitration.md B9, D1.18, D2.1-4.
#include "src/share/host.h"

#include <random>

#include <gtest/gtest.h>

namespace tidegate::share {
namespace {

// A host frees its own models until it shows the target; what is then free on the card is what was needed, whatever the
// bias, whichever way it points, whatever its cache holds. Each freed byte raises both readings.
TEST(Host, I5_TheBiasCancelsInBothRegimes) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    const Bytes device_free = (random() % 4096) * kMiB;
    const Bytes cache = (random() % 1024) * kMiB;
    const SignedBytes bias = static_cast<SignedBytes>(random() % (14 * kGiB)) - static_cast<SignedBytes>(725 * kMiB);
    const SignedBytes seen = static_cast<SignedBytes>(device_free) + bias;
    if (seen < 0) continue;
    const HostFree blind{static_cast<Bytes>(seen) + cache, cache};
    EXPECT_EQ(offset(blind, device_free), bias) << "seed " << seed;
    const Bytes needed = device_free + (random() % 2048) * kMiB;
    const SignedBytes frees = host_target(needed, blind, device_free) - static_cast<SignedBytes>(blind.shown);
    EXPECT_EQ(frees, static_cast<SignedBytes>(needed - device_free)) << "seed " << seed;
  }
}

TEST(Host, TheReserveIsNothingWhereTheHostSeesAllAndTheSiblingsWhereItIsBlind) {
  std::vector<SeatView> seats(3);
  for (int i = 0; i < 3; ++i) {
    seats[i].row = i;
    seats[i].state[Term::kResident] = (i + 1) * kGiB;
    seats[i].state[Term::kContext] = 119 * kMiB;
  }
  seats[2].state[Term::kPromised] = kGiB;
  EXPECT_EQ(host_reserve(HostSees::kDevice, seats, 0), 0u);
  EXPECT_EQ(host_reserve(HostSees::kProcess, seats, 0), 6 * kGiB + 238 * kMiB);
  EXPECT_EQ(host_reserve(HostSees::kProcess, seats, 2), 3 * kGiB + 238 * kMiB);
  // A sibling that dies is in the books no more, and so in no reserve.
  seats.pop_back();
  EXPECT_EQ(host_reserve(HostSees::kProcess, seats, 0), 2 * kGiB + 119 * kMiB);
}

TEST(Host, I5_TheCorrectionIsAppliedOnceAndCanBeRemoved) {
  Bytes blind = 15 * kGiB;
  const Bytes truth = 4 * kGiB;
  MemInfoFunction slot = [&] { return std::optional(MemInfo{blind, 16 * kGiB}); };
  const auto device_free = [&] { return std::optional(truth); };
  auto first = MemInfoCorrection::install(slot, device_free);
  EXPECT_TRUE(first->installed());
  EXPECT_EQ(slot(), (MemInfo{truth, 16 * kGiB}));
  auto second = MemInfoCorrection::install(slot, device_free);
  EXPECT_FALSE(second->installed());
  second.reset();
  EXPECT_EQ(slot(), (MemInfo{truth, 16 * kGiB}));
  // The host has learned to see the device: nothing is taken off again (D1.18).
  blind = truth;
  EXPECT_EQ(slot()->free, truth);
  blind = truth - kGiB;
  EXPECT_EQ(slot()->free, truth - kGiB);
  blind = 15 * kGiB;
  first.reset();
  EXPECT_EQ(slot()->free, blind);
}

TEST(Host, ACorrectionUnderAnothersWrapperOnlyPassesOnOnceItIsGone) {
  MemInfoFunction slot = [] { return std::optional(MemInfo{15 * kGiB, 16 * kGiB}); };
  auto ours = MemInfoCorrection::install(slot, [] { return std::optional(4 * kGiB); });
  slot = [inner = slot]() {
    auto info = inner();
    info->free -= kGiB;
    return info;
  };
  EXPECT_EQ(slot()->free, 3 * kGiB);
  ours.reset();
  EXPECT_EQ(slot()->free, 14 * kGiB);
}

TEST(Host, WithoutAReadingOrAnAnswerNothingIsCorrected) {
  bool fails = false;
  MemInfoFunction slot = [&]() -> std::optional<MemInfo> {
    if (fails) return std::nullopt;
    return MemInfo{15 * kGiB, 16 * kGiB};
  };
  auto correction = MemInfoCorrection::install(slot, [] { return std::optional<Bytes>(); });
  EXPECT_EQ(slot()->free, 15 * kGiB);
  fails = true;
  EXPECT_FALSE(slot());
}

}  // namespace
}  // namespace tidegate::share
