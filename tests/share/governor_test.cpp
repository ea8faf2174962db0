// The governor over a modelled card: holders that fill and empty at the rate of a link, a foreign program that never
// asks, minutes of model time from one seed. Plain arithmetic, not the simulated WDDM card: nothing is demoted here.
#include "src/share/governor.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace tidegate::share {
namespace {

using base::kMillisecond;
using base::kSecond;

constexpr Bytes kCard = 16 * kGiB;
constexpr base::Nanos kTick = 5 * kMillisecond;
constexpr Bytes kPerTick = 48 * kMiB;  // about 10 GiB/s, in and out

struct ModelHolder final : Holder {
  Bytes held = 0, budget = 0, floor = 512 * kMiB, wants = 0;
  base::Nanos last_use = 0;
  HolderState state() override { return {held, std::min(floor, held), wants, 0, 0, last_use}; }
  void set_budget(Bytes bytes) override { budget = bytes; }
  void tick() {
    const Bytes aim = std::min(budget, wants);
    if (held < aim) held += std::min(kPerTick, aim - held);
    if (held > budget) held -= std::min(kPerTick, held - budget);
  }
};

struct World {
  struct Program {
    ModelHolder holder;
    std::unique_ptr<Seat> seat;
    std::unique_ptr<Governor> governor;
    base::Nanos next_step = 0, next_turn = 0, busy_time = 0;
    bool busy = false;
    double served = 0;  // byte-seconds while busy
  };

  World(std::uint64_t seed, int count) : random(seed) {
    Ledger::format(table.bytes(), kCard);
    for (int i = 0; i < count; ++i) {
      auto program = std::make_unique<Program>();
      auto ledger = Ledger::attach(table.store_of(i + 1), kCard).value();
      program->seat = ledger->take_seat("p").value();
      program->governor =
          std::make_unique<Governor>(ledger, *program->seat, program->holder, [this] { return read(); });
      programs.push_back(std::move(program));
    }
  }

  Bytes held() const {
    Bytes sum = 0;
    for (const auto& program : programs) sum += program->holder.held;
    return sum;
  }
  std::optional<CardReading> read() {
    last_read_foreign = foreign;
    return CardReading{kCard, kCard - std::min(kCard, held() + foreign), now};
  }
  base::Nanos between(base::Nanos least, base::Nanos most) {
    return least + static_cast<base::Nanos>(random() % static_cast<std::uint64_t>(most - least));
  }
  void tick() {
    now += kTick;
    for (auto& program : programs) {
      ModelHolder& holder = program->holder;
      if (bursty && now >= program->next_turn) {
        program->busy = !program->busy;
        program->next_turn =
            now + (program->busy ? between(2 * kSecond, 8 * kSecond) : between(kSecond / 2, 3 * kSecond));
      }
      holder.wants = program->busy ? kCard * 6 / 10 : std::min(holder.wants, kCard * 6 / 10);
      if (program->busy) {
        holder.last_use = now;
        program->busy_time += kTick;
        program->served += static_cast<double>(std::min(holder.held, holder.wants)) * 1e-9 * static_cast<double>(kTick);
      }
      if (now >= program->next_step) {
        program->next_step = program->governor->step(now) + between(0, 5 * kMillisecond);
      }
      holder.tick();
    }
  }

  std::mt19937_64 random;
  LedgerTable table{Ledger::bytes_needed(), kSeats};
  std::vector<std::unique_ptr<Program>> programs;
  Bytes foreign = 0, last_read_foreign = 0;
  base::Nanos now = 0;
  bool bursty = true;
};

TEST(Governor, BurstySeatsBesideAForeignProgram) {
  const std::uint64_t seeds = std::getenv("TIDEGATE_NIGHTLY") != nullptr ? 1000 : 24;
  constexpr base::Nanos kDeadline = kSecond;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    World world(seed, 3);
    const bool steps = seed % 2 == 0;  // else the foreign program stays within the standing allowance
    base::Nanos step_at = steps ? world.between(60 * kSecond, 120 * kSecond) : base::kNever;
    base::Nanos stepped = -kDeadline;
    bool credited = true;
    Bytes before = 0;
    double used = 0, contended = 0;
    while (world.now < 600 * kSecond) {
      if (world.now >= step_at) {
        const bool up = world.foreign < kCard / 2;
        world.foreign = up ? kCard * 6 / 10 : 256 * kMiB;
        step_at = world.now + world.between(20 * kSecond, 60 * kSecond);
        if (up) stepped = world.now, before = world.held(), credited = before + world.foreign <= kCard;
      } else if (!steps && world.random() % 200 == 0) {
        world.foreign = world.random() % (base_headroom(kCard) / 2);
      }
      world.tick();
      const Bytes held = world.held();
      if (!credited && held < before) {
        credited = true;
        ASSERT_LE(world.now - stepped, 100 * kMillisecond) << "seed " << seed;
      }
      if (world.now - stepped > kDeadline) {
        ASSERT_TRUE(credited) << "seed " << seed;
        // Beyond the allowance only: a foreign program may take of that at any moment.
        ASSERT_LE(held + world.last_read_foreign, kCard) << "seed " << seed << " at " << world.now;
      }
      Bytes demand = world.foreign;
      for (const auto& program : world.programs) demand += program->busy ? program->holder.wants : 0;
      if (demand > kCard) {
        contended += 1;
        used += static_cast<double>(std::min(kCard, held + world.foreign)) / static_cast<double>(kCard);
      }
    }
    ASSERT_GT(contended, 1000) << "seed " << seed;
    EXPECT_GE(used / contended, 0.85) << "seed " << seed;
    double least = 1e300, sum = 0;
    for (const auto& program : world.programs) {
      const double rate = program->served / (1e-9 * static_cast<double>(program->busy_time));
      least = std::min(least, rate);
      sum += rate;
    }
    EXPECT_GE(least, 0.8 * sum / static_cast<double>(world.programs.size())) << "seed " << seed;
  }
}

TEST(Governor, AnIdleHolderKeepsItsFloorOnlyAndTheOtherGrows) {
  World world(1, 2);
  world.bursty = false;
  world.programs[0]->busy = true;
  while (world.now < 3 * kSecond) world.tick();
  world.programs[0]->busy = false;
  EXPECT_EQ(world.programs[0]->holder.held, kCard * 6 / 10);
  while (world.now < 70 * kSecond) world.tick();
  EXPECT_EQ(world.programs[0]->holder.held, world.programs[0]->holder.floor);
}

TEST(Governor, ASpillRaisesTheHeadroomAndItFallsBack) {
  World world(1, 1);
  world.bursty = false;
  auto& program = *world.programs[0];
  program.busy = true;
  program.holder.wants = kCard;
  while (world.now < 3 * kSecond) world.tick();
  const Bytes before = program.governor->headroom();
  EXPECT_EQ(before, base_headroom(kCard));
  program.governor->spilled(kGiB);
  world.tick();
  while (program.governor->headroom() == before) world.tick();
  EXPECT_LE(world.now, 4 * kSecond);
  EXPECT_GT(program.governor->headroom(), before + kGiB * 9 / 10);
  while (world.now < 1000 * kSecond) world.tick();
  EXPECT_LT(program.governor->headroom(), before + kMiB);
}

TEST(Governor, WithoutAReadingNothingGrows) {
  LedgerTable table(Ledger::bytes_needed(), kSeats);
  Ledger::format(table.bytes(), kCard);
  auto ledger = Ledger::attach(table.store_of(1), kCard).value();
  auto seat = ledger->take_seat("p").value();
  ModelHolder holder;
  holder.wants = kGiB;
  Governor governor(ledger, *seat, holder, [] { return std::nullopt; });
  EXPECT_EQ(governor.step(kSecond), kSecond + 25 * kMillisecond);
  EXPECT_EQ(governor.budget(), 0u);
}

TEST(SpillWatch, TwoSlowPiecesInARow) {
  SpillWatch watch;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(watch.note(32, 140 * base::kMicrosecond + i));
  EXPECT_FALSE(watch.note(32, 7500 * base::kMicrosecond));
  EXPECT_FALSE(watch.note(32, 150 * base::kMicrosecond));
  EXPECT_FALSE(watch.note(32, 7500 * base::kMicrosecond));
  const auto factor = watch.note(64, 15000 * base::kMicrosecond);
  ASSERT_TRUE(factor);
  EXPECT_NEAR(*factor, 53, 2);
  EXPECT_FALSE(watch.note(0, 1));
}

}  // namespace
}  // namespace tidegate::share
