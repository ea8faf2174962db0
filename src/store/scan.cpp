#include "src/store/scan.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/address_range.h"
#include "src/store/reader_pool.h"

namespace tidegate::store {
namespace {

constexpr Bytes kPage = base::InputFile::kDirectAlign;
constexpr base::Nanos kAsk = 50 * base::kMillisecond;  // between two calls of goes_on

class Scan final : public PartListener {
 public:
  Scan(base::Executor& executor, const ModelFile& file, std::span<const FileExtent> weights, PieceSink& sink,
       const ScanOptions& options)
      : executor_(executor), file_(file), weights_(weights), sink_(sink), piece_(options.piece) {}

  Result<void> run(const std::function<bool(Bytes)>& goes_on, unsigned readers) {
    slots_.resize(readers);
    const Bytes buffer = round_up(piece_ + 2 * kPage, base::AddressRange::page_bytes());
    auto memory = base::AddressRange::reserve(buffer * readers);
    if (!memory) return memory.error();
    if (auto usable = memory->make_usable(0, memory->size()); !usable) return usable;
    ReaderPool pool(executor_, *this, readers);
    {
      const base::Lock lock(mutex_);
      pool_ = &pool;
      for (unsigned i = 0; i < readers; ++i) {
        slots_[i].buffer = memory->data() + i * buffer;
        begin_next(i);
      }
    }
    mutex_.lock();
    while (under_way_ > 0) {
      executor_.wait(mutex_, finished_, executor_.now() + kAsk);
      const Bytes done = done_;
      mutex_.unlock();
      const bool on = goes_on(done);
      mutex_.lock();
      if (!on && !error_) error_ = Error{Errc::kClosed, "stopped while reading"};
    }
    mutex_.unlock();
    if (error_) return *error_;
    return {};
  }

  void part_read(std::uint64_t ticket, const Result<void>& outcome) override {
    const Slot slot = slots_[ticket];  // nobody else's until its next part begins
    if (outcome) sink_.piece(slot.weight, slot.at, slot.buffer + slot.lead, slot.bytes);
    const base::Lock lock(mutex_);
    if (!outcome && !error_) error_ = outcome.error();
    done_ += slot.bytes;
    --under_way_;
    begin_next(ticket);
    if (under_way_ == 0) executor_.notify_all(finished_);
  }

 private:
  struct Slot {
    std::byte* buffer = nullptr;
    std::size_t weight = 0;
    Bytes at = 0;
    Bytes bytes = 0;
    Bytes lead = 0;
  };

  // Under mutex_.
  void begin_next(std::size_t index) {
    while (weight_ < weights_.size() && at_ >= weights_[weight_].bytes) {
      ++weight_;
      at_ = 0;
    }
    if (error_ || weight_ == weights_.size()) return;
    const FileExtent& extent = weights_[weight_];
    Slot& slot = slots_[index];
    slot.weight = weight_;
    slot.at = at_;
    slot.bytes = std::min(piece_, extent.bytes - at_);
    const Bytes begin = extent.offset + at_;
    slot.lead = begin % kPage;
    at_ += slot.bytes;
    ++under_way_;
    pool_->submit({{&file_.files()[extent.file], begin - slot.lead, slot.buffer,
                    round_up(slot.lead + slot.bytes, kPage), index}});
  }

  base::Executor& executor_;
  const ModelFile& file_;
  const std::span<const FileExtent> weights_;
  PieceSink& sink_;
  const Bytes piece_;
  ReaderPool* pool_ = nullptr;
  std::vector<Slot> slots_;

  base::Mutex mutex_;  // guards what follows
  base::WaitPoint finished_;
  std::size_t weight_ = 0;  // the next piece
  Bytes at_ = 0;
  unsigned under_way_ = 0;
  Bytes done_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<void> scan(base::Executor& executor, const ModelFile& file, std::span<const FileExtent> weights, PieceSink& sink,
                  const std::function<bool(Bytes done)>& goes_on, const ScanOptions& options) {
  if (options.readers == 0 || options.piece == 0 || options.piece % kPage != 0) {
    return Error{Errc::kInvalidArgument, "a scan needs readers, and pieces of whole pages"};
  }
  return Scan(executor, file, weights, sink, options).run(goes_on, options.readers);
}

}  // namespace tidegate::store
