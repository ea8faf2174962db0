// Admission, recall and shedding as pure functions: worked cases, faults of other arbiters, random interleavings.
#include "src/share/admission.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "src/share/ledger.h"

namespace tidegate::share {
namespace {

constexpr base::Nanos kNow = 1000 * base::kSecond;

SeatView seat(int row, Bytes resident, Bytes promised = 0) {
  SeatView view;
  view.row = row;
  view.state[Term::kResident] = resident;
  view.state[Term::kPromised] = promised;
  view.state.last_use = kNow;
  return view;
}

void wish(SeatView& view, Bytes bytes, base::Nanos since = kNow) {
  view.state.wants = bytes;
  view.state.wants_since = since;
  view.state.wants_until = kNow + base::kSecond;
}

// Capacity 16, A holds 4 and has 4 promised, foreign 6: free is 6, and of it only 2 are anybody's.
TEST(Admission, TheWorkedCounterexample) {
  const CardReading reading{16 * kGiB, 6 * kGiB, kNow};
  const std::vector<SeatView> books{seat(0, 4 * kGiB, 4 * kGiB), seat(1, 0)};
  EXPECT_EQ(foreign_now(reading, books), static_cast<SignedBytes>(6 * kGiB));
  EXPECT_EQ(room(reading, books, 6 * kGiB, 0), static_cast<SignedBytes>(2 * kGiB));
  const AdmissionRules rules;
  EXPECT_EQ(decide({1, 2 * kGiB}, reading, books, 6 * kGiB, rules, kNow).verdict, Verdict::kGrant);
  const Decision more = decide({1, 2 * kGiB + 1}, reading, books, 6 * kGiB, rules, kNow);
  EXPECT_EQ(more.verdict, Verdict::kRefuse);
  EXPECT_NE(more.reason.find("room for 2048 MiB (6144 MiB free, 6144 MiB foreign"), std::string::npos) << more.reason;
}

// host-arbitration.md D2.1: true free excludes the sibling's 6 GiB, and the reserve held them again: 3,546 MiB were
// evicted where 3,198 MiB were spare. Of a 16,380 MiB card: a reserve of 700, the sibling's 6 GiB, a load of 4 GiB.
TEST(Admission, D2_1_BytesOfASiblingAreTakenOffOnce) {
  const Bytes capacity = 16'380 * kMiB;
  const std::vector<SeatView> books{seat(0, 0), seat(1, 6 * kGiB)};
  const CardReading reading{capacity, capacity - 6 * kGiB, kNow};
  AdmissionRules rules;
  rules.headroom = 700 * kMiB;
  const Decision decision = decide({0, 4 * kGiB}, reading, books, 0, rules, kNow);
  EXPECT_EQ(decision.verdict, Verdict::kGrant);
  EXPECT_TRUE(recalled(reading, books, 0, rules, kNow).empty());
  EXPECT_EQ(room(reading, books, 0, rules.headroom), static_cast<SignedBytes>(capacity - 6 * kGiB - 700 * kMiB));
}

// D2.2: the asker's own bytes were in the reserve that its own request had to clear.
TEST(Admission, D2_2_TheAskersOwnBytesAreNotHeldAgainstItTwice) {
  const Bytes capacity = 16 * kGiB;
  for (Bytes own = 0; own <= 8 * kGiB; own += kGiB) {
    const std::vector<SeatView> books{seat(0, own), seat(1, 2 * kGiB)};
    const CardReading reading{capacity, capacity - own - 2 * kGiB, kNow};
    EXPECT_EQ(room(reading, books, 0, kGiB), static_cast<SignedBytes>(capacity - own - 3 * kGiB)) << own;
  }
}

// D2.3: the asker's side took the siblings' bytes off a second time, as blind - true: 1,560 MiB usable, not 8,004. What
// is granted here does not depend on what the asker's own blind reading says, and is all that is there.
TEST(Admission, D2_3_WhatIsUsableIsWhatIsThere) {
  const CardReading reading{16'380 * kMiB, 8'704 * kMiB, kNow};
  const std::vector<SeatView> books{seat(0, 0), seat(1, 6 * kGiB)};
  const SignedBytes foreign = foreign_now(reading, books);
  AdmissionRules rules;
  rules.headroom = 700 * kMiB;
  EXPECT_EQ(room(reading, books, static_cast<Bytes>(foreign), rules.headroom), static_cast<SignedBytes>(8'004 * kMiB));
  EXPECT_EQ(decide({0, 8'004 * kMiB}, reading, books, static_cast<Bytes>(foreign), rules, kNow).verdict,
            Verdict::kGrant);
}

// D1.8: bytes taken and not yet touched are on no reading.
TEST(Admission, UntouchedBytesAreNotFree) {
  std::vector<SeatView> books{seat(0, 0), seat(1, 0)};
  books[0].state[Term::kUntouched] = 10 * kGiB;
  const CardReading reading{16 * kGiB, 16 * kGiB, kNow};
  EXPECT_EQ(foreign_now(reading, books), 0);
  EXPECT_EQ(room(reading, books, 0, 0), static_cast<SignedBytes>(6 * kGiB));
}

TEST(Admission, TheLargestForeignValueOfTheLastSecondsCounts) {
  ForeignWatch watch(3 * base::kSecond);
  EXPECT_EQ(watch.largest(0), 0u);
  watch.note(1 * base::kSecond, 5 * kGiB);
  watch.note(2 * base::kSecond, kGiB);
  EXPECT_EQ(watch.largest(2 * base::kSecond), 5 * kGiB);
  EXPECT_EQ(watch.largest(4 * base::kSecond), 5 * kGiB);
  EXPECT_EQ(watch.largest(5 * base::kSecond), kGiB);
  EXPECT_EQ(watch.largest(50 * base::kSecond), kGiB);
  watch.note(51 * base::kSecond, -5);
  EXPECT_EQ(watch.largest(51 * base::kSecond), 0u);
}

TEST(Admission, WhatCannotEverBeHadIsRefusedAtOnceTheRestWaits) {
  std::vector<SeatView> books{seat(0, 0), seat(1, 12 * kGiB)};
  const CardReading reading{16 * kGiB, 4 * kGiB, kNow};
  books[1].state.floor = 2 * kGiB;
  books[1].state.reclaimable = 12 * kGiB;
  wish(books[0], 14 * kGiB);
  EXPECT_EQ(decide({0, 14 * kGiB}, reading, books, 0, {}, kNow).verdict, Verdict::kWait);
  EXPECT_EQ(decide({0, 14 * kGiB + 1}, reading, books, 0, {}, kNow).verdict, Verdict::kRefuse);
  // At the deadline: a part that is of use, or a refusal that says why.
  const base::Nanos late = kNow + 2 * base::kSecond;
  const Decision part = decide({0, 14 * kGiB, kGiB}, reading, books, 0, {}, late);
  EXPECT_EQ(part.verdict, Verdict::kPart);
  EXPECT_EQ(part.bytes, 4 * kGiB);
  EXPECT_EQ(decide({0, 14 * kGiB, 5 * kGiB}, reading, books, 0, {}, late).verdict, Verdict::kRefuse);
}

TEST(Admission, NobodyPassesAnEarlierWishAndPrioritiesAge) {
  std::vector<SeatView> books{seat(0, 0), seat(1, 0), seat(2, 10 * kGiB)};
  books[2].state.reclaimable = 10 * kGiB;
  const CardReading reading{16 * kGiB, 6 * kGiB, kNow};
  wish(books[0], 8 * kGiB, kNow - base::kSecond);
  // There are 6 GiB, and 4 would do for the second; the first would then wait for ever.
  wish(books[1], 4 * kGiB, kNow);
  EXPECT_EQ(decide({1, 4 * kGiB}, reading, books, 0, {}, kNow).verdict, Verdict::kWait);
  books[1].state.priority = 1;
  EXPECT_EQ(decide({1, 4 * kGiB}, reading, books, 0, {}, kNow).verdict, Verdict::kGrant);
  books[0].state.wants_since = kNow - 5 * base::kSecond;
  EXPECT_EQ(decide({1, 4 * kGiB}, reading, books, 0, {}, kNow).verdict, Verdict::kWait);
  // A wish past its deadline is nobody's.
  books[0].state.wants_until = kNow;
  EXPECT_EQ(decide({1, 4 * kGiB}, reading, books, 0, {}, kNow).verdict, Verdict::kGrant);
}

TEST(Recall, IdleLongestThenLowestPriorityThenCheapest) {
  std::vector<SeatView> books{seat(0, 0), seat(1, 5 * kGiB), seat(2, 5 * kGiB), seat(3, 5 * kGiB)};
  for (SeatView& view : books) view.state.reclaimable = view.state.held();
  const CardReading reading{16 * kGiB, kGiB, kNow};
  wish(books[0], 3 * kGiB);
  books[2].state.last_use = kNow - 10 * base::kSecond;
  EXPECT_EQ(recalled(reading, books, 0, {}, kNow), (std::map<int, Bytes>{{2, 2 * kGiB}}));
  books[3].state.last_use = kNow - 20 * base::kSecond;
  EXPECT_EQ(recalled(reading, books, 0, {}, kNow), (std::map<int, Bytes>{{3, 2 * kGiB}}));
  books[2].state.last_use = books[3].state.last_use;
  books[2].state.restore_ns = 100, books[3].state.restore_ns = 200;
  EXPECT_EQ(recalled(reading, books, 0, {}, kNow), (std::map<int, Bytes>{{2, 2 * kGiB}}));
  books[3].state.priority = -1;
  EXPECT_EQ(recalled(reading, books, 0, {}, kNow), (std::map<int, Bytes>{{3, 2 * kGiB}}));
  books[3].state.floor = 4 * kGiB;
  EXPECT_EQ(recalled(reading, books, 0, {}, kNow), (std::map<int, Bytes>{{2, kGiB}, {3, kGiB}}));
}

// D1.2: a busy holder could not be asked at all.
TEST(Recall, ABusyEqualKeepsItsFairShareAndAHigherPriorityTakesItDownToTheFloor) {
  std::vector<SeatView> books{seat(0, 0), seat(1, 16 * kGiB)};
  books[1].state.reclaimable = 16 * kGiB;
  books[1].state.floor = kGiB;
  const CardReading reading{16 * kGiB, 0, kNow};
  wish(books[0], 12 * kGiB);
  EXPECT_EQ(recalled(reading, books, 0, {}, kNow), (std::map<int, Bytes>{{1, 8 * kGiB}}));
  books[1].state.held_until = kNow + 1;
  EXPECT_TRUE(recalled(reading, books, 0, {}, kNow).empty());
  books[0].state.priority = 1;
  EXPECT_EQ(recalled(reading, books, 0, {}, kNow), (std::map<int, Bytes>{{1, 12 * kGiB}}));
  books[1].state.priority = 2;
  EXPECT_TRUE(recalled(reading, books, 0, {}, kNow).empty());
}

TEST(Recall, TheNewestGrantShedsFirstItsPromisesIncluded) {
  std::vector<SeatView> books{seat(0, 6 * kGiB), seat(1, 4 * kGiB, kGiB)};
  for (SeatView& view : books) view.state.reclaimable = view.state.held();
  books[0].state.granted = 1, books[1].state.granted = 2;
  const CardReading reading{16 * kGiB, 0, kNow};  // 6 GiB turned out to be foreign
  EXPECT_EQ(shed(reading, books, 6 * kGiB, 0), (std::map<int, Bytes>{{1, kGiB}}));
  EXPECT_EQ(shed(reading, books, 12 * kGiB, 0), (std::map<int, Bytes>{{0, 2 * kGiB}, {1, 5 * kGiB}}));
  EXPECT_TRUE(shed({16 * kGiB, kGiB, kNow}, books, 5 * kGiB, 0).empty());
}

// Seats on one table ask, take, touch, give back and die in any order, while a foreign program grows and shrinks.
// Whenever a promise is made or taken, the seats fit beside what of the foreign program was last read.
TEST(Admission, RandomInterleavingsNeverExceedWhatIsThere) {
  const std::uint64_t seeds = std::getenv("TIDEGATE_NIGHTLY") != nullptr ? 2000 : 60;
  constexpr Bytes kCard = 16 * kGiB;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(seed);
    LedgerTable table(Ledger::bytes_needed(), kSeats);
    Ledger::format(table.bytes(), kCard);
    auto watcher = Ledger::attach(table.store_of(99), kCard).value();
    std::vector<std::unique_ptr<Seat>> seats(4);
    int next_process = 1;
    std::vector<int> processes(4);
    Bytes foreign = 0;
    ForeignWatch watch;
    base::Nanos now = 0;
    Bytes granted = 0;
    const auto read = [&] {
      Bytes touched = 0;
      for (const SeatView& view : watcher->look().seats) touched += view.state.touched();
      const Bytes used = std::min(kCard, touched + foreign);
      return CardReading{kCard, kCard - used, now};
    };
    for (int step = 0; step < 400; ++step) {
      now += 10 * base::kMillisecond;
      const std::size_t i = random() % seats.size();
      if (!seats[i]) {
        processes[i] = next_process++;
        seats[i] = Ledger::attach(table.store_of(processes[i]), kCard).value()->take_seat("p").value();
      }
      const SeatState state = seats[i]->state();
      const Bytes amount = (random() % 4096 + 1) * kMiB;
      switch (random() % 7) {
        case 0:
        case 1: {
          const CardReading reading = read();
          watch.note(now, foreign_now(reading, watcher->look().seats));
          const Bytes worst = watch.largest(now);
          const bool yes =
              seats[i]
                  ->ask(Term::kPromised, amount,
                        [&](const LedgerView& view) { return room(reading, view.seats, worst, 512 * kMiB) >= 0; })
                  .value();
          granted += yes ? amount : 0;
          if (!yes) break;
          Bytes all = 0;
          for (const SeatView& view : watcher->look().seats) all += view.state.held() + view.state[Term::kPromised];
          ASSERT_LE(all + foreign, kCard - 512 * kMiB) << "seed " << seed << " step " << step;
          break;
        }
        case 2:
          ASSERT_TRUE(seats[i]->move(Term::kPromised, Term::kUntouched, std::min(amount, state[Term::kPromised])));
          break;
        case 3:
          ASSERT_TRUE(seats[i]->move(Term::kUntouched, Term::kResident, std::min(amount, state[Term::kUntouched])));
          break;
        case 4:
          ASSERT_TRUE(seats[i]->discharge(Term::kResident, std::min(amount, state[Term::kResident])));
          break;
        case 5:  // foreign takes what is free by the card, which is what the seats have not touched
          foreign = random() % 2 == 0 ? foreign / 2 : foreign + std::min(amount / 2, read().device_free);
          break;
        default:
          if (random() % 4 != 0) break;
          table.kill(processes[i]);
          (void)seats[i].release();  // NOLINT: it died; what it was stays as it was
          break;
      }
    }
    EXPECT_GT(granted, 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tidegate::share
