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

  const void* host(std::size_t weight) const { return host_[weight]; }
  // What the checksum kernel finds where the weight's bytes are right.
  std::uint64_t expected(std::size_t weight) const { return expected_[weight]; }
  const std::string& how() const { return how_; }  // "pinned host memory"

 protected:
  std::vector<const void*> host_;
  std::vector<std::uint64_t> expected_;
  std::string how_;
};

struct StageRequest {
  Card& card;
  sim::SimCard* sim = nullptr;  // the same card, where it is simulated
  const Model& model;
  BytesMode bytes{};
  std::uint64_t seed = 1;
  ReadMode read = ReadMode::kDirect;  // of a model file
  Bytes pinned_cap = ~Bytes{0};       // of page-locked memory
  Progress& progress;
};

// Errors: kHostOutOfMemory, kDriver; kClosed if a signal came meanwhile.
Result<std::unique_ptr<StagedModel>> stage_model(const StageRequest& request);

}  // namespace tidegate::cli
