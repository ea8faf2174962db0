#include "src/store/file_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/address_range.h"

namespace tidegate::store {
namespace {

constexpr Bytes kPage = base::InputFile::kDirectAlign;

// The whole pages that a weight's bytes lie in.
Bytes pages_of(const FileExtent& extent) {
  return round_up(extent.offset + extent.bytes, kPage) - round_down(extent.offset, kPage);
}

}  // namespace

Result<std::shared_ptr<FileSource>> FileSource::create(Card& card, PinnedArena& arena,
                                                       std::shared_ptr<const ModelFile> file,
                                                       std::vector<FileExtent> extents,
                                                       const FileSourceOptions& options) {
  if (options.readers == 0 || options.piece == 0 || options.piece % kPage != 0) {
    return Error{Errc::kInvalidArgument, "a ring needs readers, and pieces of whole pages"};
  }
  Bytes ring = round_up(options.ring, kPage);
  for (const FileExtent& extent : extents) {
    const bool inside = extent.file < file->files().size() && extent.offset <= file->files()[extent.file].size() &&
                        extent.bytes <= file->files()[extent.file].size() - extent.offset;
    if (!inside) return Error{Errc::kInvalidArgument, "a weight lies outside of its file"};
    ring = std::max(ring, pages_of(extent));
  }
  const auto memory = arena.allocate(ring);
  if (!memory) return memory.error();
  std::shared_ptr<FileSource> source(new FileSource(card, arena, std::move(file), std::move(extents), options));
  source->ring_ = memory.value();
  source->ring_bytes_ = ring;
  return source;
}

FileSource::~FileSource() {
  readers_.reset();
  if (ring_ != nullptr) arena_.free(ring_);
}

void FileSource::connect(std::function<void()> ready) {
  const base::Lock lock(mutex_);
  ready_ = std::move(ready);
}

Result<void> FileSource::read(std::size_t weight, void* to) {
  const FileExtent& extent = extents_[weight];
  const base::InputFile& input = file_->files()[extent.file];
  if (!input.direct()) return input.read(extent.offset, to, extent.bytes);
  const Bytes pages = pages_of(extent);
  auto buffer = base::AddressRange::reserve(round_up(pages, base::AddressRange::page_bytes()));
  if (!buffer) return buffer.error();
  if (auto usable = buffer->make_usable(0, buffer->size()); !usable) return usable;
  const Bytes from = round_down(extent.offset, kPage);
  if (auto got = input.read(from, buffer->data(), pages); !got) return got;
  std::memcpy(to, buffer->data() + (extent.offset - from), extent.bytes);
  return {};
}

Result<WeightSource::Supply> FileSource::want(std::size_t weight, bool now) {
  const base::Lock lock(mutex_);
  Item* item = item_of_[weight];
  if (item == nullptr) {
    const Bytes bytes = pages_of(extents_[weight]);
    if (!find_room(bytes) && !(now && make_room(bytes))) {
      refused_ = true;
      return Supply::kFull;
    }
    start(weight);
    return Supply::kComing;
  }
  if (item->reading > 0) return Supply::kComing;
  if (!item->error) return Supply::kReady;
  Error error = *std::move(item->error);
  drop(*item);
  return error;
}

const std::byte* FileSource::take(std::size_t weight) {
  const base::Lock lock(mutex_);
  Item& item = *item_of_[weight];
  ++item.users;
  return ring_ + item.at + item.lead;
}

void FileSource::done(std::size_t weight) {
  const base::Lock lock(mutex_);
  Item& item = *item_of_[weight];
  if (--item.users > 0) return;
  drop(item);
  if (std::exchange(refused_, false)) tell();
}

FileSource::Item* FileSource::start(std::size_t weight) {
  const FileExtent& extent = extents_[weight];
  auto item = std::make_unique<Item>();
  item->weight = weight;
  item->bytes = pages_of(extent);
  item->at = *find_room(item->bytes);
  item->lead = extent.offset % kPage;
  const Bytes from = extent.offset - item->lead;
  std::vector<FilePart> parts;
  for (Bytes done = 0; done < item->bytes; done += options_.piece) {
    parts.push_back({&file_->files()[extent.file], from + done, ring_ + item->at + done,
                     std::min(options_.piece, item->bytes - done), weight});
  }
  item->reading = parts.size();
  Item* started = item.get();
  item_of_[weight] = started;
  items_.insert(
      std::upper_bound(items_.begin(), items_.end(), item, [](const auto& a, const auto& b) { return a->at < b->at; }),
      std::move(item));
  readers_->submit(parts);
  return started;
}

// First fit.
std::optional<Bytes> FileSource::find_room(Bytes bytes) const {
  Bytes begin = 0;
  for (const auto& item : items_) {
    if (item->at - begin >= bytes) return begin;
    begin = item->at + item->bytes;
  }
  if (ring_bytes_ - begin >= bytes) return begin;
  return std::nullopt;
}

// What was read ahead and is not being copied makes room, wherever it takes the fewest bytes; false if what is being
// read or copied stands in the way everywhere: it ends by itself.
bool FileSource::make_room(Bytes bytes) {
  std::size_t best = items_.size();
  std::size_t best_count = 0;
  Bytes best_loss = ~Bytes{0};
  for (std::size_t first = 0; first < items_.size(); ++first) {
    const Bytes begin = first == 0 ? 0 : items_[first - 1]->at + items_[first - 1]->bytes;
    Bytes loss = 0;
    std::size_t last = first;
    Bytes end = begin;
    bool fits = false;
    while (last < items_.size() && items_[last]->reading == 0 && items_[last]->users == 0) {
      loss += items_[last++]->bytes;
      end = last < items_.size() ? items_[last]->at : ring_bytes_;
      if ((fits = end - begin >= bytes)) break;
    }
    if (!fits || loss >= best_loss) continue;
    best = first;
    best_count = last - first;
    best_loss = loss;
  }
  if (best == items_.size()) return false;
  for (; best_count > 0; --best_count) drop(*items_[best]);
  return true;
}

void FileSource::drop(Item& item) {
  item_of_[item.weight] = nullptr;
  items_.erase(std::find_if(items_.begin(), items_.end(), [&](const auto& other) { return other.get() == &item; }));
}

void FileSource::part_read(std::uint64_t ticket, const Result<void>& outcome) {
  const base::Lock lock(mutex_);
  Item& item = *item_of_[ticket];
  if (!outcome && !item.error) item.error = outcome.error();
  if (--item.reading == 0) tell();
}

}  // namespace tidegate::store
