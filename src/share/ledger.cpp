#include "src/share/ledger.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "src/share/ledger_layout.h"

namespace tidegate::share {
namespace {

LedgerLayout& layout_of(std::span<std::byte> bytes) { return *reinterpret_cast<LedgerLayout*>(bytes.data()); }

bool is_file_name(const std::string& uuid) {
  const auto fine = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  return !uuid.empty() && uuid.size() <= 100 && std::all_of(uuid.begin(), uuid.end(), fine);
}

Result<void> check_header(const LedgerHeader& header, Bytes capacity) {
  const auto reject = [](const std::string& why) {
    return Error{Errc::kBadFile, "the ledger is not believed: " + why + "; end its programs and remove its file"};
  };
  if (header.magic != kMagic) return reject("it is no ledger");
  if (header.oldest > kVersion || header.newest < kVersion) {
    return reject(fmt::format("its versions are {} to {}, this program's is {}", header.oldest.load(),
                              header.newest.load(), kVersion));
  }
  if (header.check != header_check(header)) return reject("its header is damaged");
  if (header.seats != kSeats || header.row_bytes != sizeof(LedgerRow)) return reject("its rows are of another shape");
  if (header.capacity != capacity) {
    return reject(fmt::format("it is of a card with {} bytes, this one has {}", header.capacity.load(), capacity));
  }
  return {};
}

base::ProcessIdentity identity_in(const LedgerRow& row) { return {row.pid, row.started, row.pid_space}; }

std::string name_in(const LedgerRow& row) {
  char text[sizeof row.name + 1] = {};
  for (std::size_t i = 0; i < std::size(row.name); ++i) {
    const std::uint64_t word = row.name[i];
    std::memcpy(text + i * sizeof word, &word, sizeof word);
  }
  std::string name = text;
  // It goes to terminals: another process's bytes are not to move the cursor.
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return name;
}

void put_name(LedgerRow& row, const std::string& name) {
  char text[sizeof row.name] = {};
  std::memcpy(text, name.data(), std::min(name.size(), sizeof text));
  for (std::size_t i = 0; i < std::size(row.name); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, text + i * sizeof word, sizeof word);
    row.name[i] = word;
  }
}

}  // namespace

std::size_t Ledger::bytes_needed() { return sizeof(LedgerLayout); }

void Ledger::format(std::span<std::byte> bytes, Bytes capacity) {
  // The memory is zero: rows without tenants.
  LedgerHeader& header = layout_of(bytes).header;
  header.oldest = kVersion;
  header.newest = kVersion;
  header.capacity = capacity;
  header.seats = kSeats;
  header.row_bytes = sizeof(LedgerRow);
  header.magic = kMagic;
  header.check = header_check(header);
}

Result<std::shared_ptr<Ledger>> Ledger::open(const std::string& card_uuid, Bytes capacity) {
  if (!is_file_name(card_uuid)) return Error{Errc::kInvalidArgument, "'" + card_uuid + "' is not a card's UUID"};
  const char* named = std::getenv(kLedgerFolderVariable);
  const std::string folder =
      named != nullptr && *named != '\0' ? named : fmt::format("/dev/shm/tidegate-{}", base::user_id());
  auto file = base::SharedFile::open(folder, card_uuid, sizeof(LedgerLayout),
                                     [capacity](std::span<std::byte> bytes) { format(bytes, capacity); });
  if (!file) return file.error();
  auto ledger = attach(std::make_unique<FileStore>(std::move(file).value()), capacity);
  if (!ledger) return Error{ledger.error().code, folder + "/" + card_uuid + ": " + ledger.error().message};
  return ledger;
}

Result<std::shared_ptr<Ledger>> Ledger::attach(std::unique_ptr<LedgerStore> store, Bytes capacity) {
  if (store->bytes().size() < sizeof(LedgerLayout)) return Error{Errc::kBadFile, "the ledger is cut short"};
  if (auto fine = check_header(layout_of(store->bytes()).header, capacity); !fine) return fine.error();
  return std::shared_ptr<Ledger>(new Ledger(std::move(store), capacity));
}

LedgerRow* Ledger::row_at(int row) const { return &layout_of(store_->bytes()).rows[row]; }

Result<std::unique_ptr<Seat>> Ledger::take_seat(const std::string& name, std::int64_t priority) {
  const base::Lock hold(mutex_);
  const base::ProcessIdentity self = store_->identity();
  LedgerLayout& layout = layout_of(store_->bytes());
  // A process's own locks are never in its way when it takes one. So another copy of this library in the process, or
  // another Ledger of this file, is found by a living row that names this process.
  for (int i = 0; i < kSeats; ++i) {
    const LedgerRow& row = layout.rows[i];
    if (row.in_use != 0 && identity_in(row) == self && store_->locked(i)) {
      return Error{Errc::kInvalidArgument, "this process has a seat at this card already"};
    }
  }
  for (int i = 0; i < kSeats; ++i) {
    if (!store_->try_lock(i)) continue;
    LedgerRow& row = layout.rows[i];
    // What a dead tenant left goes first: from here on the row's words are this process's.
    SeatState state;
    state.priority = priority;
    write_state(row, state);
    row.pid = self.pid, row.started = self.started, row.pid_space = self.pid_space;
    put_name(row, name);
    row.generation.fetch_add(1);
    row.in_use = 1;
    return std::unique_ptr<Seat>(new Seat(shared_from_this(), i, state));
  }
  return Error{Errc::kOutOfMemory, fmt::format("all {} seats at this card are taken", kSeats)};
}

void Ledger::leave(int index) {
  const base::Lock hold(mutex_);
  LedgerRow& row = layout_of(store_->bytes()).rows[index];
  write_state(row, {});
  row.in_use = 0;
  store_->unlock(index);
}

LedgerView Ledger::look() const {
  LedgerView view;
  view.capacity = capacity_;
  const LedgerLayout& layout = layout_of(store_->bytes());
  for (int i = 0; i < kSeats; ++i) {
    const LedgerRow& row = layout.rows[i];
    if (row.in_use == 0) continue;
    // Read before its life is looked at: what is taken down here was written by one that still lived afterwards.
    const auto state = read_state(row);
    SeatView seat{i, row.generation, identity_in(row), name_in(row), state.value_or(SeatState{})};
    if (!store_->locked(i)) continue;
    if (!state || !believable(*state, capacity_)) {
      view.unbelievable.push_back(i);
      continue;
    }
    view.seats.push_back(std::move(seat));
  }
  return view;
}

}  // namespace tidegate::share
