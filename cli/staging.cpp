#include "cli/staging.h"

#include <algorithm>
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
  bool advance(Bytes bytes) {
    done_ += bytes;
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

// Reads parts of a file's tensors. Past the page cache, what is read is whole pages, into a buffer of their alignment.
class Bounce {
 public:
  Result<void> read(const store::ModelFile& file, const WeightTensor& weight, Bytes at, std::byte* to, Bytes bytes) {
    const store::StoredTensor& tensor = file.tensors()[weight.stored];
    const base::InputFile& input = file.files()[tensor.file];
    const Bytes begin = tensor.offset + weight.stored_offset + at;
    if (!input.direct()) return input.read(begin, to, bytes);
    constexpr Bytes kPage = base::InputFile::kDirectAlign;
    const Bytes from = round_down(begin, kPage);
    const Bytes size = round_up(begin + bytes, kPage) - from;
    if (buffer_.size() < size) {
      auto larger = base::AddressRange::reserve(round_up(size, base::AddressRange::page_bytes()));
      if (!larger) return larger.error();
      buffer_ = std::move(larger).value();
      if (auto usable = buffer_.make_usable(0, buffer_.size()); !usable) return usable;
    }
    if (auto got = input.read(from, buffer_.data(), size); !got) return got;
    std::memcpy(to, buffer_.data() + (begin - from), bytes);
    return {};
  }

 private:
  base::AddressRange buffer_;
};

// Page-locked memory for all weights of a model, some of them to a chunk.
class PinnedModel : public StagedModel {
 public:
  PinnedModel(driver::Driver& driver, Bytes cap) : arena_(driver, cap) { how_ = "pinned host memory"; }

  Result<void> stage(const StageRequest& request) {
    const auto& weights = request.model.weights;
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
        if (auto filled = fill(request, weights[first], to, meter); !filled) return filled;
      }
    }
    // Where the file system cannot read past its cache, the second copy goes now.
    if (request.model.file != nullptr && request.read == ReadMode::kDirect) {
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
      if (weight.stored != kNotStored) {
        if (auto read = bounce_.read(*request.model.file, weight, done, to + done, part); !read) return read;
        sum += base::checksum(to + done, part, done / 8);
      } else {
        sum += fill_and_sum(to + done, part, key, done);
      }
      done += part;
      if (!meter.advance(part)) return stopped();
    }
    host_.push_back(to);
    expected_.push_back(sum);
    return {};
  }

  Bounce bounce_;
  store::PinnedArena arena_;
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
  if (request.model.file != nullptr) {
    return staged(std::make_unique<PinnedModel>(driver, request.pinned_cap), request);
  }
  if (request.bytes == BytesMode::kTags && request.sim != nullptr) {
    return staged(std::make_unique<TaggedModel>(request.sim->machine()), request);
  }
  return staged(std::make_unique<PinnedModel>(driver, request.pinned_cap), request);
}

}  // namespace tidegate::cli
