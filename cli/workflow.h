// A workflow: models as tensor tables, and the steps that run them. Loaded from a workflow file (the schema is that of
// examples/workflows/generate.py) or made from one model file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/store/model_file.h"
#include "src/store/tensor.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::cli {

enum class Op { kLinear, kEmbedding, kElementwise };

inline constexpr std::size_t kNotStored = ~std::size_t{0};

struct WeightTensor {  // a tensor with bytes of its own
  std::string name;
  std::vector<std::uint64_t> shape;
  store::Dtype dtype{};
  Bytes bytes = 0;
  std::size_t stored = kNotStored;  // its tensor in Model::file; else seeded bytes are made for it
  Bytes stored_offset = 0;          // where in that tensor it begins: a large one is cut into parts
};

struct TensorUse {  // a place in a pass where a tensor is used
  std::size_t weight = 0;
  double flops_per_token = 0;
  std::string tokens;  // which count of the step multiplies it; empty: 1
};

struct Model {
  std::string name;
  std::string title;
  std::vector<std::string> assumed;
  std::vector<WeightTensor> weights;  // in the order of first use
  std::vector<TensorUse> uses;        // one pass
  std::shared_ptr<const store::ModelFile> file;

  Bytes bytes() const;
};

struct Step {
  std::string label;
  std::size_t model = 0;
  std::uint32_t passes = 1;
  std::map<std::string, std::uint64_t> tokens;
};

struct Workflow {
  std::string name;
  std::string description;
  std::vector<Model> models;
  std::vector<Step> steps;
};

// Errors: one line naming the file and the place in it ("$.models[0].groups[1].tensors[2].dtype").
Result<Workflow> load_workflow(const std::string& path);
Result<Workflow> parse_workflow(std::string_view json, const std::string& where);

// One model, its tensors in file order as the order of use, in one step. Tensors without bytes are left out. No FLOPs
// are known: each tensor gets those of a bf16 linear weight and kAssumedTokens tokens, in proportion to its bytes.
inline constexpr std::uint64_t kAssumedTokens = 256;
// Tied tensors are one weight, used at each of its places.
Result<Workflow> workflow_of_file(const std::string& path, base::InputFile::Cache cache, std::uint32_t passes);

// FLOPs of each use of a pass of this step.
std::vector<double> flops_of_pass(const Model& model, const Step& step);

// Cuts the weights of models that come from files into parts of at most `most` bytes, used one after another, so that a
// file runs under a budget smaller than its largest tensor. `most` is a multiple of 512. Answers how many were cut.
std::size_t cut_file_weights(Workflow& workflow, Bytes most);

// Scales bytes (up to whole 512 bytes, never above the true size) and FLOPs.
void scale_workflow(Workflow& workflow, double scale);

}  // namespace tidegate::cli
