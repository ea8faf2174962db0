#include "cli/staging.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "cli/bus_guard.h"
#include "cli/interrupt.h"
#include "cli/quantities.h"
#include "cli/seeded.h"
#include "sim/open_card.h"
#include "src/base/address_range.h"
#include "src/base/checksum.h"
#include "src/base/mapped_file.h"
#include "src/driver/errors.h"
#include "src/store/file_source.h"
#include "src/store/pinned_arena.h"

namespace tidegate::cli {
namespace {

constexpr Bytes kAlign = 512;               // of a weight in staged memory: the pager's own grain
constexpr Bytes kPart = 16 * kMiB;          // worked on between two looks at the signal flag
constexpr Bytes kChunk = kGiB;              // of pinned memory at a time
constexpr Bytes kTagPrefix = 4 * kKiB;      // real bytes at the front of a tagged weight
constexpr Bytes kTagRealBelow = 64 * kKiB;  // weights up to this size are all real: a pager may gather them by hand

Error stopped() { return {Errc::kClosed, "stopped while staging"}; }

// Says how far staging is.
class Meter {
 public:
  Meter(const StageRequest& request, const char* verb)
      : request_(request), verb_(verb), total_(request.model.bytes()) {}

  // False: a signal came.
  bool advance(Bytes bytes) { return reached(done_ + bytes); }
  bool reached(Bytes done) {
    done_ = done;
    if (request_.progress.due()) {
      request_.progress.show(
          fmt::format("{} {}: {} of {}", verb_, request_.model.name, format_size(done_), format_size(total_)));
    }
    return interrupted() == 0;
  }

 private:
  const StageRequest& request_;
  const char* verb_;
  Bytes total_;
  Bytes done_ = 0;
};

// Where the weights of a model lie in its file.
std::vector<store::FileExtent> extents_of(const Model& model) {
  std::vector<store::FileExtent> extents;
  for (const WeightTensor& weight : model.weights) {
    const store::StoredTensor& tensor = model.file->tensors()[weight.stored];
    extents.push_back({tensor.file, tensor.offset + weight.stored_offset, weight.bytes});
  }
  return extents;
}

// Sums up what is read of each weight, and copies it to its place if it has one.
class SummingSink final : public store::PieceSink {
 public:
  explicit SummingSink(std::size_t weights) : places(weights), sums_(weights) {}
  void piece(std::size_t weight, Bytes at, const std::byte* data, Bytes bytes) override {
    if (places[weight] != nullptr) std::memcpy(places[weight] + at, data, bytes);
    sums_[weight].fetch_add(base::checksum(data, bytes, at / 8), std::memory_order_relaxed);
  }
  std::vector<std::uint64_t> sums() const { return {sums_.begin(), sums_.end()}; }

  std::vector<std::byte*> places;

 private:
  std::vector<std::atomic<std::uint64_t>> sums_;
};

Result<void> scan_file(const StageRequest& request, SummingSink& sink, const char* verb) {
  Meter meter(request, verb);
  auto read = store::scan(request.card.executor(), *request.model.file, extents_of(request.model), sink,
                          [&meter](Bytes done) { return meter.reached(done); });
  if (!read && read.error().code == Errc::kClosed) return stopped();
  return read;
}

// Page-locked memory for all weights of a model, some of them to a chunk.
class PinnedModel : public StagedModel {
 public:
  PinnedModel(driver::Driver& driver, Bytes cap) : arena_(driver, cap) { how_ = "pinned host memory"; }

  Result<void> stage(const StageRequest& request) {
    const auto& weights = request.model.weights;
    const bool stored = request.model.file != nullptr;
    SummingSink sink(stored ? weights.size() : 0);
    Meter meter(request, "staging");
    for (std::size_t first = 0; first < weights.size();) {
      std::size_t last = first;
      Bytes size = 0;
      while (last < weights.size() && (last == first || size + weights[last].bytes <= kChunk)) {
        size += round_up(weights[last++].bytes, kAlign);
      }
      const auto chunk = arena_.allocate(size);
      if (!chunk) return chunk.error();
      std::byte* to = chunk.value();
      for (; first < last; to += round_up(weights[first++].bytes, kAlign)) {
        host_.push_back(to);
        if (stored) {
          sink.places[first] = to;
        } else if (auto filled = fill(request, weights[first], to, meter); !filled) {
          return filled;
        }
      }
    }
    if (!stored) return {};
    if (auto read = scan_file(request, sink, "staging"); !read) return read;
    expected_ = sink.sums();
    // Where the file system cannot read past its cache, the second copy goes now.
    if (request.read == ReadMode::kDirect) {
      for (const base::InputFile& file : request.model.file->files()) {
        if (!file.direct()) file.drop_cache();
      }
    }
    return {};
  }

 private:
  Result<void> fill(const StageRequest& request, const WeightTensor& weight, std::byte* to, Meter& meter) {
    std::uint64_t sum = 0;
    const std::uint64_t key = content_key(request.seed, request.model.name, weight.name);
    for (Bytes done = 0; done < weight.bytes;) {
      const Bytes part = std::min(kPart, weight.bytes - done);
      sum += fill_and_sum(to + done, part, key, done);
      done += part;
      if (!meter.advance(part)) return stopped();
    }
    expected_.push_back(sum);
    return {};
  }

  store::PinnedArena arena_;
};

// A bounded ring of page-locked memory, through which weights come from the file each time they are needed.
class StreamedModel : public StagedModel {
 public:
  StreamedModel(driver::Driver& driver, Bytes ring) : arena_(driver, ~Bytes{0}), ring_(ring) {}
  ~StreamedModel() override { source_.reset(); }

  Result<void> stage(const StageRequest& request) {
    SummingSink sink(request.model.weights.size());
    const base::Nanos start = request.card.executor().now();
    if (auto read = scan_file(request, sink, "reading"); !read) return read;  // what the checks expect
    const base::Nanos took = request.card.executor().now() - start;
    if (request.sim == nullptr && took > 0) {
      bytes_per_second_ = static_cast<double>(request.model.bytes()) / (static_cast<double>(took) * 1e-9);
    }
    expected_ = sink.sums();
    host_.resize(request.model.weights.size());
    auto source =
        store::FileSource::create(request.card, arena_, request.model.file, extents_of(request.model), {.ring = ring_});
    if (!source) return source.error();
    how_ = fmt::format("its file, through a ring of {} of pinned memory", format_size(source.value()->ring_bytes()));
    source_ = std::move(source).value();
    return {};
  }

 private:
  store::PinnedArena arena_;
  Bytes ring_;
};

// Weights that exist as a tag, but for their first bytes.
class TaggedModel : public StagedModel {
 public:
  explicit TaggedModel(sim::Machine& machine) : machine_(machine) {
    how_ = "content tags, and real bytes at the front of each weight";
  }
  ~TaggedModel() override {
    if (declared_) (void)machine_.undeclare_host(range_.data());
  }

  Result<void> stage(const StageRequest& request) {
    const Bytes page = std::max(base::AddressRange::page_bytes(), kTagPrefix);
    Bytes size = 0;
    std::vector<Bytes> offsets;
    for (const WeightTensor& weight : request.model.weights) {
      offsets.push_back(size);
      size += round_up(weight.bytes, page);
    }
    auto range = base::AddressRange::reserve(size);
    if (!range) return range.error();
    range_ = std::move(range).value();

    std::vector<sim::RealRange> real;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const WeightTensor& weight = request.model.weights[i];
      const Bytes length = weight.bytes <= kTagRealBelow ? weight.bytes : kTagPrefix;
      if (const auto usable = range_.make_usable(offsets[i], length); !usable) return usable.error();
      std::byte* to = range_.data() + offsets[i];
      fill_seeded(to, length, content_key(request.seed, request.model.name, weight.name));
      if (!real.empty() && real.back().offset + real.back().length == offsets[i]) {
        real.back().length += length;  // ranges must be apart
      } else {
        real.push_back({offsets[i], length});
      }
      host_.push_back(to);
    }
    const std::uint64_t tag = content_key(request.seed, request.model.name, "");
    declared_ = machine_.declare_tagged_host(range_.data(), range_.size(), tag, std::move(real));
    if (!declared_) return Error{Errc::kDriver, "the simulated machine refuses the weights' address range"};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      expected_.push_back(machine_.expected_checksum(host_[i], request.model.weights[i].bytes));
    }
    return {};
  }

 private:
  sim::Machine& machine_;
  base::AddressRange range_;
  bool declared_ = false;
};

// The files' own mappings, page-locked in place where the driver accepts that; else copies from them pass through the
// driver's own staging.
class MappedModel : public StagedModel {
 public:
  explicit MappedModel(driver::Driver& driver) : driver_(driver) {}
  ~MappedModel() override {
    for (void* base : registered_) (void)driver_.mem_host_unregister(base);
  }

  Result<void> stage(const StageRequest& request) {
    file_ = request.model.file;
    for (const base::InputFile& file : file_->files()) {
      auto mapped = base::MappedFile::open(file.path());
      if (!mapped) return mapped.error();
      if (mapped->bytes().size() < file.size()) {
        return Error{Errc::kBadFile, file.path() + ": offset " + std::to_string(mapped->bytes().size()) +
                                         ": the file ends here, it was longer when it was opened: truncated meanwhile"};
      }
      maps_.push_back(std::move(mapped).value());
      const auto bytes = maps_.back().bytes();
      guards_.push_back(std::make_unique<BusGuard>(bytes.data(), bytes.size(), file.path()));
      void* base = const_cast<std::byte*>(bytes.data());
      const Bytes size = round_up(bytes.size(), base::AddressRange::page_bytes());
      const unsigned flags = driver::kRegisterPortable | driver::kRegisterReadOnly;
      if (driver_.mem_host_register(base, size, flags) == driver::kSuccess) registered_.push_back(base);
    }
    how_ = registered_.size() == maps_.size() ? "the file's mapping, page-locked" : "the file's mapping";
    Meter meter(request, "reading");
    for (const WeightTensor& weight : request.model.weights) {
      const store::StoredTensor& tensor = file_->tensors()[weight.stored];
      const std::byte* at = maps_[tensor.file].bytes().data() + tensor.offset + weight.stored_offset;
      std::uint64_t sum = 0;
      for (Bytes done = 0; done < weight.bytes; done += kPart) {
        const Bytes part = std::min(kPart, weight.bytes - done);
        sum += base::checksum(at + done, part, done / 8);
        if (!meter.advance(part)) return stopped();
      }
      host_.push_back(at);
      expected_.push_back(sum);
    }
    return {};
  }

 private:
  driver::Driver& driver_;
  std::vector<base::MappedFile> maps_;
  std::vector<std::unique_ptr<BusGuard>> guards_;
  std::vector<void*> registered_;
  std::shared_ptr<const store::ModelFile> file_;
};

template <typename Kind, typename Owner>
Result<std::unique_ptr<StagedModel>> staged(std::unique_ptr<Kind> model, Owner& request) {
  if (Result<void> done = model->stage(request); !done) return done.error();
  return std::unique_ptr<StagedModel>(std::move(model));
}

}  // namespace

Result<std::unique_ptr<StagedModel>> stage_model(const StageRequest& request) {
  driver::Driver& driver = request.card.driver();
  if (request.model.file != nullptr && request.read == ReadMode::kMapped)
    return staged(std::make_unique<MappedModel>(driver), request);
  if (request.model.file != nullptr && request.read == ReadMode::kStream) {
    return staged(std::make_unique<StreamedModel>(driver, request.ring), request);
  }
  if (request.model.file != nullptr) {
    return staged(std::make_unique<PinnedModel>(driver, request.pinned_cap), request);
  }
  if (request.bytes == BytesMode::kTags && request.sim != nullptr) {
    return staged(std::make_unique<TaggedModel>(request.sim->machine()), request);
  }
  return staged(std::make_unique<PinnedModel>(driver, request.pinned_cap), request);
}

}  // namespace tidegate::cli
