// The ledger's bytes. Everything is a 64-bit word of the machine's own order: a ledger never leaves its machine. Fields
// are added at the end of a state, within its spare words, without a new version: zero means "not said".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "src/share/ledger.h"

namespace tidegate::share {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8, "words are shared between processes");

inline constexpr std::uint64_t kMagic = 0x3172676474646974;  // "tidtdgr1"
// A program of version v reads and writes ledgers whose [oldest, newest] holds v.
inline constexpr std::uint64_t kVersion = 1;

inline constexpr std::size_t kStateWords = 32;
using StateWords = std::array<std::uint64_t, kStateWords>;

struct LedgerHeader {
  Word magic, oldest, newest, capacity, seats, row_bytes, check, spare[57];
};

struct LedgerRow {
  Word in_use;      // 0: nobody has sat here since the ledger was made, or the last one left in order
  Word generation;  // counts tenants
  Word pid, started, pid_space;
  Word name[4];  // 32 bytes, padded with zeros
  Word spare[6];
  Word turn;  // counts changes; state[turn % 2] is the one to read
  struct Copy {
    Word words[kStateWords];
    Word check;  // over the words and the turn they were written in
    Word spare[7];
  } copies[2];
  Word tail[32];
};
static_assert(sizeof(LedgerHeader) == 512 && sizeof(LedgerRow) == 1024);

struct LedgerLayout {
  LedgerHeader header;
  LedgerRow rows[kSeats];
};

std::uint64_t header_check(const LedgerHeader& header);
StateWords to_words(const SeatState& state);
SeatState from_words(const StateWords& words);

// By the row's only writer.
void write_state(LedgerRow& row, const SeatState& state);
// Nothing: the row's content is not what a writer leaves, or its writer changes it faster than it can be read.
std::optional<SeatState> read_state(const LedgerRow& row);

// Whether a state can be true of a card of this capacity. What it says of itself is otherwise taken as it is.
bool believable(const SeatState& state, Bytes capacity);

}  // namespace tidegate::share
