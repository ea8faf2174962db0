// The ledger on a table of simulated processes: terms, limits, liveness, and what is not believed (I7, I8).
#include <random>

#include <gtest/gtest.h>

#include "src/base/checksum.h"
#include "src/share/ledger_layout.h"

namespace tidegate::share {
namespace {

constexpr Bytes kCard = 16 * kGiB;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() { Ledger::format(table_.bytes(), kCard); }
  std::shared_ptr<Ledger> ledger_of(int process) {
    auto ledger = Ledger::attach(table_.store_of(process), kCard);
    EXPECT_TRUE(ledger.ok());
    return ledger.value();
  }
  std::unique_ptr<Seat> seat_of(int process) {
    auto seat = ledger_of(process)->take_seat("p" + std::to_string(process));
    EXPECT_TRUE(seat.ok()) << seat.error().message;
    return std::move(seat).value();
  }
  LedgerLayout& layout() { return *reinterpret_cast<LedgerLayout*>(table_.bytes().data()); }

  LedgerTable table_{Ledger::bytes_needed(), kSeats};
};

TEST_F(LedgerTest, I7_EachByteIsInTheTermItWasBookedIn) {
  auto seat = seat_of(1);
  ASSERT_TRUE(seat->charge(Term::kContext, 119 * kMiB));
  ASSERT_TRUE(seat->charge(Term::kPromised, kGiB));
  ASSERT_TRUE(seat->move(Term::kPromised, Term::kUntouched, kGiB));
  ASSERT_TRUE(seat->move(Term::kUntouched, Term::kResident, 600 * kMiB));
  ASSERT_TRUE(seat->charge(Term::kPinnedHost, 3 * kGiB));
  const LedgerView view = ledger_of(2)->look();
  ASSERT_EQ(view.seats.size(), 1u);
  const SeatState& seen = view.seats[0].state;
  EXPECT_EQ(view.seats[0].name, "p1");
  EXPECT_EQ(seen, seat->state());
  EXPECT_EQ(seen[Term::kPromised], 0u);
  EXPECT_EQ(seen[Term::kUntouched], 424 * kMiB);
  EXPECT_EQ(seen.held(), 119 * kMiB + kGiB);
  EXPECT_EQ(seen.touched(), 719 * kMiB);
}

TEST_F(LedgerTest, RefusalsChangeNothing) {
  auto seat = seat_of(1);
  ASSERT_TRUE(seat->charge(Term::kResident, kGiB));
  const SeatState before = seat->state();
  EXPECT_EQ(seat->discharge(Term::kResident, kGiB + 1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(seat->move(Term::kPromised, Term::kResident, 1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(seat->charge(Term::kResident, kCard).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(seat->charge(Term::kResident, ~Bytes{0}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(seat->update([](SeatState& s) { s.wants = kCard + 1; }).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(seat->state(), before);
  EXPECT_EQ(ledger_of(2)->look().seats[0].state, before);
}

TEST_F(LedgerTest, WhatIsGoneCannotBeGivenBack) {
  auto seat = seat_of(1);
  ASSERT_TRUE(seat->charge(Term::kResident, 4 * kGiB));
  ASSERT_TRUE(seat->update([](SeatState& s) { s.reclaimable = 3 * kGiB; }));
  ASSERT_TRUE(seat->discharge(Term::kResident, 2 * kGiB));
  EXPECT_EQ(seat->state().reclaimable, 2 * kGiB);
}

TEST_F(LedgerTest, SixtyFourSeatsAndNotOneMore) {
  std::vector<std::unique_ptr<Seat>> seats;
  for (int process = 1; process <= kSeats; ++process) seats.push_back(seat_of(process));
  EXPECT_EQ(ledger_of(1000)->look().seats.size(), static_cast<std::size_t>(kSeats));
  EXPECT_EQ(ledger_of(1000)->take_seat("late").error().code, Errc::kOutOfMemory);
  seats[17].reset();
  EXPECT_TRUE(ledger_of(1000)->take_seat("late").ok());
}

TEST_F(LedgerTest, OneSeatPerProcessAlsoThroughASecondCopy) {
  auto seat = seat_of(1);
  EXPECT_EQ(ledger_of(1)->take_seat("copy").error().code, Errc::kInvalidArgument);
  seat.reset();
  EXPECT_TRUE(ledger_of(1)->take_seat("again").ok());
}

TEST_F(LedgerTest, I8_ADeadProcessHoldsNothingAndItsRowIsFree) {
  auto doomed = seat_of(1);
  ASSERT_TRUE(doomed->charge(Term::kResident, 9 * kGiB));
  auto other = seat_of(2);
  ASSERT_TRUE(other->charge(Term::kResident, 2 * kGiB));
  table_.kill(1);
  LedgerView view = ledger_of(3)->look();
  ASSERT_EQ(view.seats.size(), 1u);
  EXPECT_EQ(view.seats[0].state.held(), 2 * kGiB);
  // The next tenant of the row starts with nothing, and is told from the last one.
  auto next = seat_of(4);
  EXPECT_EQ(next->row(), doomed->row());
  view = ledger_of(3)->look();
  EXPECT_EQ(view.seats[0].process.pid, 4u);
  EXPECT_EQ(view.seats[0].generation, 2u);
  EXPECT_EQ(view.seats[0].state.held(), 0u);
  next.reset();
  doomed.release();  // NOLINT: it died; nothing of it runs any more
}

TEST_F(LedgerTest, OfTwoWhoAskAtOnceAtMostOneIsGrantedTheLastBytes) {
  auto a = seat_of(1);
  auto b = seat_of(2);
  const auto fits = [](const LedgerView& view) {
    Bytes promised = 0;
    for (const SeatView& seat : view.seats) promised += seat.state[Term::kPromised];
    return promised <= 10 * kGiB;
  };
  // The worst interleaving: B asks between A's promise and A's look.
  bool b_granted = true;
  const auto a_granted = a->ask(Term::kPromised, 6 * kGiB, [&](const LedgerView&) {
    b_granted = b->ask(Term::kPromised, 6 * kGiB, fits).value();
    return fits(ledger_of(3)->look());
  });
  EXPECT_FALSE(b_granted);
  EXPECT_TRUE(a_granted.value());
  EXPECT_EQ(a->state()[Term::kPromised], 6 * kGiB);
  EXPECT_EQ(b->state()[Term::kPromised], 0u);
}

TEST_F(LedgerTest, AnAskIsForAPromise) {
  auto seat = seat_of(1);
  EXPECT_EQ(seat->ask(Term::kResident, 1, [](const LedgerView&) { return true; }).error().code, Errc::kInvalidArgument);
}

TEST_F(LedgerTest, AForeignHeaderIsNotBelieved) {
  const auto refused = [&] { return Ledger::attach(table_.store_of(1), kCard).error(); };
  LedgerHeader& header = layout().header;
  header.oldest = kVersion + 1, header.newest = kVersion + 3, header.check = header_check(header);
  EXPECT_EQ(refused().code, Errc::kBadFile);
  EXPECT_NE(refused().message.find("its versions are 2 to 4, this program's is 1"), std::string::npos);
  // A newer program that still writes what this one reads.
  header.oldest = 1, header.check = header_check(header);
  EXPECT_TRUE(Ledger::attach(table_.store_of(1), kCard).ok());
  header.capacity = kCard / 2;
  EXPECT_EQ(refused().code, Errc::kBadFile);
  header.check = header_check(header);
  EXPECT_NE(refused().message.find("of a card with"), std::string::npos);
  EXPECT_EQ(Ledger::attach(table_.store_of(1), kCard / 4).error().code, Errc::kBadFile);
  header.magic = 0;
  EXPECT_NE(refused().message.find("no ledger"), std::string::npos);
}

TEST_F(LedgerTest, RandomBytesAreNotBelieved) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    for (std::byte& byte : table_.bytes()) byte = static_cast<std::byte>(random());
    EXPECT_EQ(Ledger::attach(table_.store_of(1), kCard).error().code, Errc::kBadFile) << "seed " << seed;
  }
}

TEST_F(LedgerTest, RandomRowsAreReportedAndCountForNothing) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto victim = seat_of(1);
    auto other = seat_of(2);
    ASSERT_TRUE(other->charge(Term::kResident, kGiB));
    std::mt19937_64 random(seed);
    auto* words = reinterpret_cast<Word*>(&layout().rows[victim->row()]);
    for (std::size_t i = 1; i < sizeof(LedgerRow) / sizeof(Word); ++i) words[i] = random();
    const LedgerView view = ledger_of(3)->look();
    ASSERT_EQ(view.unbelievable, std::vector<int>{victim->row()}) << "seed " << seed;
    ASSERT_EQ(view.seats.size(), 1u) << "seed " << seed;
    EXPECT_EQ(view.seats[0].state.held(), kGiB);
    // Its owner's next change makes it whole again.
    ASSERT_TRUE(victim->charge(Term::kResident, kMiB));
    EXPECT_TRUE(ledger_of(3)->look().unbelievable.empty()) << "seed " << seed;
  }
}

TEST_F(LedgerTest, AbsurdSizesWithAFineCheckAreNotBelieved) {
  auto seat = seat_of(1);
  for (const Term term : {Term::kContext, Term::kResident, Term::kPromised, Term::kUntouched, Term::kPinnedHost}) {
    for (const Bytes absurd : {~Bytes{0}, Bytes{1} << 63, Bytes{1} << 60}) {
      SeatState state;
      state[term] = absurd;
      write_state(layout().rows[seat->row()], state);
      EXPECT_EQ(ledger_of(2)->look().unbelievable.size(), 1u) << name_of(term) << " " << absurd;
    }
  }
  SeatState state;
  state[Term::kResident] = kGiB;
  state.reclaimable = 2 * kGiB;
  write_state(layout().rows[seat->row()], state);
  EXPECT_EQ(ledger_of(2)->look().unbelievable.size(), 1u);
}

// Every prefix of a change's stores is what a writer killed or stopped there leaves.
TEST_F(LedgerTest, I8_AChangeCutOffAnywhereLeavesTheStateBeforeIt) {
  auto seat = seat_of(1);
  ASSERT_TRUE(seat->charge(Term::kResident, kGiB));
  const SeatState before = seat->state();
  SeatState after = before;
  after[Term::kResident] = 2 * kGiB;
  LedgerRow& row = layout().rows[seat->row()];
  LedgerRow::Copy& next = row.copies[(row.turn + 1) % 2];
  const StateWords words = to_words(after);
  for (std::size_t i = 0; i < kStateWords; ++i) {
    next.words[i] = words[i];
    const LedgerView view = ledger_of(2)->look();
    ASSERT_EQ(view.seats.size(), 1u);
    EXPECT_EQ(view.seats[0].state, before);
  }
  next.check = 12345;
  EXPECT_EQ(ledger_of(2)->look().seats.at(0).state, before);
}

TEST_F(LedgerTest, NamesOfOthersCannotMoveTheCursor) {
  auto seat = ledger_of(1)->take_seat("a\x1b[2Jb with a name longer than thirty-two bytes");
  ASSERT_TRUE(seat.ok());
  EXPECT_EQ(ledger_of(2)->look().seats.at(0).name, "a?[2Jb with a name longer than t");
}

}  // namespace
}  // namespace tidegate::share
