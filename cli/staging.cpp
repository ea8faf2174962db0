#include "cli/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/quantities.h"
#include "cli/seeded.h"
#include "sim/open_card.h"
#include "src/base/address_range.h"
#include "src/base/checksum.h"
#include "src/driver/errors.h"

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

// Page-locked memory for all weights of a model, some of them to a chunk.
class PinnedModel : public StagedModel {
 public:
  explicit PinnedModel(driver::Driver& driver) : driver_(driver) { how_ = "pinned host memory"; }
  ~PinnedModel() override {
    for (void* chunk : chunks_) (void)driver_.mem_free_host(chunk);
  }

  Result<void> stage(const StageRequest& request) {
    const auto& weights = request.model.weights;
    Meter meter(request, "staging");
    for (std::size_t first = 0; first < weights.size();) {
      std::size_t last = first;
      Bytes size = 0;
      while (last < weights.size() && (last == first || size + weights[last].bytes <= kChunk)) {
        size += round_up(weights[last++].bytes, kAlign);
      }
      void* chunk = nullptr;
      const auto status = driver_.mem_host_alloc(&chunk, size, driver::kHostPortable);
      if (status != driver::kSuccess) {
        Error error = driver::driver_error(driver_, status, "cuMemHostAlloc for the weights");
        if (status == driver::kOutOfMemory) error.code = Errc::kHostOutOfMemory;
        return error;
      }
      chunks_.push_back(chunk);
      auto* to = static_cast<std::byte*>(chunk);
      for (; first < last; to += round_up(weights[first++].bytes, kAlign)) {
        if (!fill(request, weights[first], to, meter)) return stopped();
      }
    }
    return {};
  }

 private:
  bool fill(const StageRequest& request, const WeightTensor& weight, std::byte* to, Meter& meter) {
    std::uint64_t sum = 0;
    const std::uint64_t key = content_key(request.seed, request.model.name, weight.name);
    for (Bytes done = 0; done < weight.bytes;) {
      const Bytes part = std::min(kPart, weight.bytes - done);
      if (weight.file_bytes != nullptr) {
        std::memcpy(to + done, weight.file_bytes + done, part);
        sum += base::checksum(weight.file_bytes + done, part, done / 8);
      } else {
        sum += fill_and_sum(to + done, part, key, done);
      }
      done += part;
      if (!meter.advance(part)) return false;
    }
    host_.push_back(to);
    expected_.push_back(sum);
    return true;
  }

  driver::Driver& driver_;
  std::vector<void*> chunks_;
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

// The file's own mapping, page-locked in place where the driver accepts that.
class MappedModel : public StagedModel {
 public:
  explicit MappedModel(driver::Driver& driver) : driver_(driver) { how_ = "the file's mapping, page-locked"; }
  ~MappedModel() override {
    if (registered_ != nullptr) (void)driver_.mem_host_unregister(registered_);
  }

  // False: the driver does not take it.
  bool lock(const StageRequest& request) {
    const auto mapping = request.model.file->mapping();
    void* base = const_cast<std::byte*>(mapping.data());
    const Bytes size = round_up(mapping.size(), base::AddressRange::page_bytes());
    const unsigned flags = driver::kRegisterPortable | driver::kRegisterReadOnly;
    if (driver_.mem_host_register(base, size, flags) != driver::kSuccess) return false;
    registered_ = base;
    file_ = request.model.file;
    return true;
  }

  Result<void> stage(const StageRequest& request) {
    Meter meter(request, "reading");
    for (const WeightTensor& weight : request.model.weights) {
      std::uint64_t sum = 0;
      for (Bytes done = 0; done < weight.bytes; done += kPart) {
        const Bytes part = std::min(kPart, weight.bytes - done);
        sum += base::checksum(weight.file_bytes + done, part, done / 8);
        if (!meter.advance(part)) return stopped();
      }
      host_.push_back(weight.file_bytes);
      expected_.push_back(sum);
    }
    return {};
  }

 private:
  driver::Driver& driver_;
  void* registered_ = nullptr;
  std::shared_ptr<const store::SafetensorsFile> file_;
};

template <typename Kind, typename Owner>
Result<std::unique_ptr<StagedModel>> staged(std::unique_ptr<Kind> model, Owner& request) {
  if (Result<void> done = model->stage(request); !done) return done.error();
  return std::unique_ptr<StagedModel>(std::move(model));
}

}  // namespace

Result<std::unique_ptr<StagedModel>> stage_model(const StageRequest& request) {
  driver::Driver& driver = request.card.driver();
  if (request.model.file != nullptr) {
    auto mapped = std::make_unique<MappedModel>(driver);
    if (mapped->lock(request)) return staged(std::move(mapped), request);
  } else if (request.bytes == BytesMode::kTags && request.sim != nullptr) {
    return staged(std::make_unique<TaggedModel>(request.sim->machine()), request);
  }
  return staged(std::make_unique<PinnedModel>(driver), request);
}

}  // namespace tidegate::cli
