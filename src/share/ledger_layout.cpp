#include "src/share/ledger_layout.h"

#include "src/base/checksum.h"

namespace tidegate::share {
namespace {

constexpr std::size_t kTerms = static_cast<std::size_t>(Term::kCount);
// A reader meets a change under way only if the writer changes twice meanwhile; so many times in a row is no accident.
constexpr int kReadAttempts = 64;

std::uint64_t check_of(const StateWords& words, std::uint64_t turn) {
  std::uint64_t sum = base::mix64(turn + base::kGolden);
  for (const std::uint64_t word : words) sum = base::mix64(sum ^ word) + base::kGolden;
  return sum;
}

}  // namespace

const char* name_of(Term term) {
  constexpr const char* kNames[] = {"context",   "resident", "cached-free", "other",
                                    "untouched", "promised", "pinned-host", "pinned-promised"};
  static_assert(std::size(kNames) == kTerms);
  return kNames[static_cast<std::size_t>(term)];
}

Bytes SeatState::held() const {
  return (*this)[Term::kContext] + (*this)[Term::kResident] + (*this)[Term::kCachedFree] + (*this)[Term::kOther] +
         (*this)[Term::kUntouched];
}

std::uint64_t header_check(const LedgerHeader& header) {
  std::uint64_t sum = 0;
  for (const Word* word :
       {&header.magic, &header.oldest, &header.newest, &header.capacity, &header.seats, &header.row_bytes}) {
    sum = base::mix64(sum ^ word->load(std::memory_order_relaxed)) + base::kGolden;
  }
  return sum;
}

StateWords to_words(const SeatState& state) {
  StateWords words{};
  std::size_t at = 0;
  const auto put = [&](auto value) { words[at++] = static_cast<std::uint64_t>(value); };
  put(state.floor), put(state.reclaimable), put(state.by_callback), put(state.restore_ns), put(state.wants);
  put(state.wants_since), put(state.wants_until), put(state.held_until), put(state.last_use), put(state.granted);
  put(state.priority);
  for (const Bytes term : state.terms) put(term);
  return words;
}

SeatState from_words(const StateWords& words) {
  SeatState state;
  std::size_t at = 0;
  const auto get = [&](auto& value) { value = static_cast<std::remove_reference_t<decltype(value)>>(words[at++]); };
  get(state.floor), get(state.reclaimable), get(state.by_callback), get(state.restore_ns), get(state.wants);
  get(state.wants_since), get(state.wants_until), get(state.held_until), get(state.last_use), get(state.granted);
  get(state.priority);
  for (Bytes& term : state.terms) get(term);
  return state;
}

void write_state(LedgerRow& row, const SeatState& state) {
  const std::uint64_t turn = row.turn.load(std::memory_order_relaxed) + 1;
  LedgerRow::Copy& copy = row.copies[turn % 2];
  const StateWords words = to_words(state);
  for (std::size_t i = 0; i < kStateWords; ++i) copy.words[i].store(words[i], std::memory_order_relaxed);
  copy.check.store(check_of(words, turn), std::memory_order_relaxed);
  // In one order with everybody's: of two who promise and then look, one sees the other.
  row.turn.exchange(turn, std::memory_order_seq_cst);
}

std::optional<SeatState> read_state(const LedgerRow& row) {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    const std::uint64_t turn = row.turn.load(std::memory_order_seq_cst);
    const LedgerRow::Copy& copy = row.copies[turn % 2];
    StateWords words;
    for (std::size_t i = 0; i < kStateWords; ++i) words[i] = copy.words[i].load(std::memory_order_relaxed);
    if (copy.check.load(std::memory_order_relaxed) == check_of(words, turn)) return from_words(words);
  }
  return std::nullopt;
}

bool believable(const SeatState& state, Bytes capacity) {
  Bytes sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    const bool host =
        i == static_cast<std::size_t>(Term::kPinnedHost) || i == static_cast<std::size_t>(Term::kPinnedPromised);
    // No machine pins 2^56 bytes; device terms are held against the card.
    if (host ? state.terms[i] >> 56 != 0 : state.terms[i] > capacity) return false;
    if (!host) sum += state.terms[i];
  }
  // What is taken beyond the card (WDDM lets it) is still less than twice of it; sums of five terms cannot overflow.
  return sum <= 2 * capacity && state.floor <= capacity && state.reclaimable <= state.held() &&
         state.by_callback <= state.held() && state.wants <= capacity && state.restore_ns >= 0;
}

}  // namespace tidegate::share
