// A model file as the pager's source of bytes: what it needs next is read ahead into a bounded ring of page-locked
// memory, by several readers, in the order in which it asks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "src/store/model_file.h"
#include "src/store/pinned_arena.h"
#include "src/store/reader_pool.h"
#include "src/store/scan.h"
#include "tidegate/card.h"
#include "tidegate/weight_source.h"

namespace tidegate::store {

struct FileSourceOptions {
  Bytes ring = 256 * kMiB;  // page-locked memory; grows to what the largest weight takes
  Bytes piece = 8 * kMiB;   // read at a time; a multiple of InputFile::kDirectAlign
  unsigned readers = 8;     // reads in flight (bench/results: 8 and 256 MiB were the fastest on an H200's machine)
};

// Thread-safe. The card must outlive it.
class FileSource final : public WeightSource, private PartListener {
 public:
  // `extents` by weight. Errors: kInvalidArgument, those of PinnedArena::allocate.
  static Result<std::shared_ptr<FileSource>> create(Card& card, PinnedArena& arena,
                                                    std::shared_ptr<const ModelFile> file,
                                                    std::vector<FileExtent> extents, const FileSourceOptions& options);
  ~FileSource() override;

  Bytes ring_bytes() const { return ring_bytes_; }

  void connect(std::function<void()> ready) override;
  Result<void> read(std::size_t weight, void* to) override;
  Result<Supply> want(std::size_t weight, bool now) override;
  const std::byte* take(std::size_t weight) override;
  void done(std::size_t weight) override;

 private:
  // A weight's place in the ring, whole pages around its bytes.
  struct Item {
    std::size_t weight = 0;
    Bytes at = 0;
    Bytes bytes = 0;
    Bytes lead = 0;           // page bytes before the weight's own
    std::size_t reading = 0;  // parts not read yet
    int users = 0;            // takes less dones
    std::optional<Error> error;
  };

  FileSource(Card& card, PinnedArena& arena, std::shared_ptr<const ModelFile> file, std::vector<FileExtent> extents,
             const FileSourceOptions& options)
      : arena_(arena),
        file_(std::move(file)),
        extents_(std::move(extents)),
        options_(options),
        item_of_(extents_.size()),
        readers_(std::in_place, card.executor(), static_cast<PartListener&>(*this), options.readers) {}

  void part_read(std::uint64_t ticket, const Result<void>& outcome) override;
  // Under mutex_.
  Item* start(std::size_t weight);
  std::optional<Bytes> find_room(Bytes bytes) const;
  bool make_room(Bytes bytes);
  void drop(Item& item);
  void tell() const {
    if (ready_) ready_();
  }

  PinnedArena& arena_;
  const std::shared_ptr<const ModelFile> file_;
  const std::vector<FileExtent> extents_;
  const FileSourceOptions options_;
  Bytes ring_bytes_ = 0;
  std::byte* ring_ = nullptr;

  base::Mutex mutex_;  // guards what follows
  std::function<void()> ready_;
  std::vector<std::unique_ptr<Item>> items_;  // by their place in the ring
  std::vector<Item*> item_of_;                // by weight; null: not in the ring
  bool refused_ = false;                      // somebody was told kFull since room was last made

  std::optional<ReaderPool> readers_;  // last: its readers use the rest
};

}  // namespace tidegate::store
