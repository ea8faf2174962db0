#include "src/store/load.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "src/base/mutex.h"
#include "src/driver/errors.h"

namespace tidegate::store {
namespace {

constexpr base::Nanos kLookAgain = 20 * base::kMicrosecond;  // a slot's copy is still running

// A run of whole pages of a file, and what of it goes where.
struct Piece {
  std::size_t file = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
  struct Part {
    Bytes from = 0;  // in the piece
    Bytes bytes = 0;
    cu::DevicePtr to = 0;
  };
  std::vector<Part> parts;
};

// Cuts the files into pieces at multiples of the piece's size, so that no byte is read twice but for pages at borders.
std::vector<Piece> cut(const ModelFile& file, std::span<const Destination> destinations, Bytes piece_bytes) {
  std::vector<Destination> order(destinations.begin(), destinations.end());
  const auto& tensors = file.tensors();
  std::sort(order.begin(), order.end(), [](const Destination& a, const Destination& b) { return a.tensor < b.tensor; });
  std::vector<Piece> pieces;
  for (const Destination& destination : order) {
    const StoredTensor& tensor = tensors[destination.tensor];
    const Bytes end = tensor.offset + tensor.bytes;
    for (Bytes at = tensor.offset; at < end;) {
      const Bytes begin = round_down(at, piece_bytes);
      if (pieces.empty() || pieces.back().file != tensor.file || pieces.back().offset != begin) {
        pieces.push_back({tensor.file, begin, 0, {}});
      }
      Piece& piece = pieces.back();
      const Bytes bytes = std::min(end, begin + piece_bytes) - at;
      piece.parts.push_back({at - begin, bytes, destination.address + (at - tensor.offset)});
      piece.bytes = std::max(piece.bytes, round_up(at - begin + bytes, base::InputFile::kDirectAlign));
      at += bytes;
    }
  }
  return pieces;
}

// What the readers share.
struct Work {
  Card& card;
  const ModelFile& file;
  const LoadOptions& options;
  std::vector<Piece> pieces;
  base::Mutex mutex;  // guards what follows
  base::WaitPoint finished;
  std::size_t next = 0;
  unsigned running = 0;
  std::optional<Error> error;

  void fail(Error why) {
    const base::Lock lock(mutex);
    if (!error) error = std::move(why);
  }
  const Piece* take() {
    const base::Lock lock(mutex);
    return error || next == pieces.size() ? nullptr : &pieces[next++];
  }
};

// One read in flight, two slots of the ring: it reads into one while the other is copied.
class Reader final : public base::Task {
 public:
  Reader(Work& work, std::byte* memory) : work_(work), memory_{memory, memory + work.options.piece} {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() override {
    driver::Driver& driver = work_.card.driver();
    if (stream_ != nullptr) (void)driver.stream_destroy(stream_);
    for (const cu::Event event : events_) {
      if (event != nullptr) (void)driver.event_destroy(event);
    }
  }
  const char* name() const override { return "file reader"; }

  Result<void> prepare() {
    driver::Driver& driver = work_.card.driver();
    cu::Status status = driver.stream_create(&stream_, cu::kStreamNonBlocking);
    for (cu::Event& event : events_) {
      if (status == cu::kSuccess) status = driver.event_create(&event, cu::kEventDisableTiming);
    }
    if (status != cu::kSuccess) return driver::driver_error(driver, status, "preparing to load");
    return {};
  }

  base::Nanos step(base::Nanos now) override {
    if (done_) return base::kNever;
    if (!prepared_) {
      prepared_ = true;
      if (auto current = work_.card.make_current(); !current) work_.fail(current.error());
    }
    driver::Driver& driver = work_.card.driver();
    if (used_[slot_]) {
      const cu::Status status = driver.event_query(events_[slot_]);
      if (status == cu::kNotReady) return now + kLookAgain;
      if (status != cu::kSuccess) work_.fail(driver::driver_error(driver, status, "copying to the card"));
      used_[slot_] = false;
    }
    if (const Piece* piece = work_.take()) {
      if (auto moved = move(*piece); !moved) work_.fail(moved.error());
      slot_ = 1 - slot_;
      return now;
    }
    if (used_[1 - slot_]) {  // the last copy of the other slot
      slot_ = 1 - slot_;
      return now;
    }
    done_ = true;
    const base::Lock lock(work_.mutex);
    if (--work_.running == 0) work_.card.executor().notify_all(work_.finished);
    return base::kNever;
  }

 private:
  Result<void> move(const Piece& piece) {
    std::byte* const memory = memory_[slot_];
    if (work_.options.read) {
      if (auto got = work_.file.files()[piece.file].read(piece.offset, memory, piece.bytes); !got) return got;
    }
    if (!work_.options.copy) return {};
    driver::Driver& driver = work_.card.driver();
    for (const Piece::Part& part : piece.parts) {
      const cu::Status status = driver.memcpy_htod_async(part.to, memory + part.from, part.bytes, stream_);
      if (status != cu::kSuccess) return driver::driver_error(driver, status, "copying to the card");
    }
    const cu::Status status = driver.event_record(events_[slot_], stream_);
    if (status != cu::kSuccess) return driver::driver_error(driver, status, "copying to the card");
    used_[slot_] = true;
    return {};
  }

  Work& work_;
  std::byte* memory_[2];
  cu::Stream stream_ = nullptr;
  cu::Event events_[2] = {};
  bool used_[2] = {};
  int slot_ = 0;
  bool prepared_ = false;
  bool done_ = false;
};

}  // namespace

Result<LoadStats> load_to_card(Card& card, PinnedArena& arena, const ModelFile& file,
                               std::span<const Destination> destinations, const LoadOptions& options) {
  if (options.readers == 0 || options.piece == 0 || options.piece % base::InputFile::kDirectAlign != 0) {
    return Error{Errc::kInvalidArgument, "a ring needs readers, and pieces of whole pages"};
  }
  const auto memory = arena.allocate(options.ring_bytes());
  if (!memory) return memory.error();
  LoadStats stats;
  Work work{card, file, options, cut(file, destinations, options.piece), {}, {}, 0, options.readers, {}};
  for (const Piece& piece : work.pieces) {
    for (const Piece::Part& part : piece.parts) stats.bytes += part.bytes;
  }
  {
    std::vector<std::unique_ptr<Reader>> readers;
    Result<void> prepared;
    for (unsigned i = 0; i < options.readers && prepared; ++i) {
      readers.push_back(std::make_unique<Reader>(work, memory.value() + i * 2 * options.piece));
      prepared = readers.back()->prepare();
    }
    if (!prepared) work.error = prepared.error();
    const base::Nanos start = card.executor().now();
    if (prepared) {
      for (const auto& reader : readers) card.executor().add(*reader);
      {
        work.mutex.lock();
        while (work.running > 0) card.executor().wait(work.mutex, work.finished, base::kNever);
        work.mutex.unlock();
      }
      stats.took = card.executor().now() - start;
      for (const auto& reader : readers) card.executor().remove(*reader);
    }
  }
  arena.free(memory.value());
  if (work.error) return *work.error;
  return stats;
}

}  // namespace tidegate::store
