#include "cli/workflow.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tidegate::cli {
namespace {

constexpr double kScaleGrain = 512;
constexpr double kBytesPerBf16 = 2;

}  // namespace

Bytes Model::bytes() const {
  Bytes sum = 0;
  for (const WeightTensor& weight : weights) sum += weight.bytes;
  return sum;
}

std::vector<double> flops_of_pass(const Model& model, const Step& step) {
  std::vector<double> flops;
  flops.reserve(model.uses.size());
  for (const TensorUse& use : model.uses) {
    const auto tokens = step.tokens.find(use.tokens);
    flops.push_back(use.flops_per_token * (tokens == step.tokens.end() ? 1 : static_cast<double>(tokens->second)));
  }
  return flops;
}

void scale_workflow(Workflow& workflow, double scale) {
  if (scale == 1) return;
  for (Model& model : workflow.models) {
    for (WeightTensor& weight : model.weights) {
      const double scaled = std::ceil(static_cast<double>(weight.bytes) * scale / kScaleGrain) * kScaleGrain;
      weight.bytes = std::min(weight.bytes, static_cast<Bytes>(scaled));
    }
    for (TensorUse& use : model.uses) use.flops_per_token *= scale;
  }
}

std::size_t cut_file_weights(Workflow& workflow, Bytes most) {
  std::size_t cut = 0;
  for (Model& model : workflow.models) {
    if (model.file == nullptr) continue;
    std::vector<WeightTensor> weights;
    std::vector<std::size_t> firsts;  // of each old weight: its first part
    for (WeightTensor& weight : model.weights) {
      firsts.push_back(weights.size());
      const Bytes parts = (weight.bytes + most - 1) / most;
      if (parts > 1) ++cut;
      for (Bytes part = 0; part < parts; ++part) {
        WeightTensor piece = weight;
        if (parts > 1) piece.name += " part " + std::to_string(part + 1) + "/" + std::to_string(parts);
        piece.bytes = std::min(most, weight.bytes - part * most);
        piece.stored_offset = weight.stored_offset + part * most;
        weights.push_back(std::move(piece));
      }
    }
    firsts.push_back(weights.size());
    std::vector<TensorUse> uses;
    for (const TensorUse& use : model.uses) {
      const auto whole = static_cast<double>(model.weights[use.weight].bytes);
      for (std::size_t part = firsts[use.weight]; part < firsts[use.weight + 1]; ++part) {
        const double share = static_cast<double>(weights[part].bytes) / whole;
        uses.push_back({part, use.flops_per_token * share, use.tokens});
      }
    }
    model.weights = std::move(weights);
    model.uses = std::move(uses);
  }
  return cut;
}

Result<Workflow> workflow_of_file(const std::string& path, base::InputFile::Cache cache, std::uint32_t passes) {
  Result<store::ModelFile> opened = store::open_model(path, cache);
  if (!opened) return opened.error();
  auto file = std::make_shared<const store::ModelFile>(std::move(opened).value());

  Model model;
  const std::size_t slash = path.find_last_of("/\\");
  model.name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  model.file = file;
  model.assumed = {"The order of use is the order of the file; compute is in proportion to bytes."};
  std::vector<std::size_t> weight_of(file->tensors().size());
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const store::StoredTensor& tensor = file->tensors()[i];
    if (tensor.bytes == 0) continue;
    weight_of[i] = tensor.same_as == i ? model.weights.size() : weight_of[tensor.same_as];
    const auto bytes = static_cast<double>(tensor.bytes);
    model.uses.push_back({weight_of[i], 2 * bytes / kBytesPerBf16 * static_cast<double>(kAssumedTokens), ""});
    if (tensor.same_as == i) {
      model.weights.push_back({tensor.name, tensor.shape, store::Dtype::kU8, tensor.bytes, i, 0});
    }
  }
  if (model.weights.empty()) return Error{Errc::kBadFile, path + ": holds no tensor with any bytes"};

  Workflow workflow;
  workflow.name = model.name;
  workflow.description = "One model file: every tensor once a pass.";
  workflow.steps.push_back({"all tensors", 0, passes, {}});
  workflow.models.push_back(std::move(model));
  return workflow;
}

}  // namespace tidegate::cli
