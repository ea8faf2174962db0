// Where weights' bytes come from on the host: seeded bytes in pinned memory, content tags in reserved address space, or
// a model file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/progress.h"
#include "cli/workflow.h"
#include "tidegate/card.h"
#include "tidegate/result.h"
#include "tidegate/weight_source.h"

namespace tidegate::sim {
class SimCard;
}

namespace tidegate::cli {

// One model's bytes on the host, ready to be copied from; the destructor gives them back. The card must have finished
// with them by then.
class StagedModel {
 public:
  virtual ~StagedModel() = default;
  StagedModel() = default;
  StagedModel(const StagedModel&) = delete;
  StagedModel& operator=(const StagedModel&) = delete;

  // Null where source() has the bytes.
  const void* host(std::size_t weight) const { return host_[weight]; }
  const std::shared_ptr<WeightSource>& source() const { return source_; }
  // How fast the source was read, measured; 0: not known, or no source.
  double bytes_per_second() const { return bytes_per_second_; }
  // What the checksum kernel finds where the weight's bytes are right.
  std::uint64_t expected(std::size_t weight) const { return expected_[weight]; }
  const std::string& how() const { return how_; }  // "pinned host memory"

 protected:
  std::vector<const void*> host_;
  std::vector<std::uint64_t> expected_;
  std::string how_;
  std::shared_ptr<WeightSource> source_;
  double bytes_per_second_ = 0;
};

struct StageRequest {
  Card& card;
  sim::SimCard* sim = nullptr;  // the same card, where it is simulated
  const Model& model;
  BytesMode bytes{};
  std::uint64_t seed = 1;
  ReadMode read = ReadMode::kDirect;  // of a model file
  Bytes pinned_cap = ~Bytes{0};       // of page-locked memory
  Bytes ring = 0;                     // ReadMode::kStream
  Progress& progress;
};

// Errors: kHostOutOfMemory, kDriver; kClosed if a signal came meanwhile.
Result<std::unique_ptr<StagedModel>> stage_model(const StageRequest& request);

}  // namespace tidegate::cli
