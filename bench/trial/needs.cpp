#include "bench/trial/needs.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

namespace tidegate::trial {
namespace {

constexpr Bytes kAlignment = 512;              // of a tensor in a module's slot
constexpr Bytes kLoadedAtOnce = 16 * kKiB;     // modules up to this are (aimdo-api, C2)
constexpr Bytes kBytesPerActivation = 2;       // bf16
constexpr const char* kTimestep = "timestep";  // a count that only sampling steps have

std::string module_of(const std::string& tensor) {
  const std::size_t dot = tensor.rfind('.');
  return dot == std::string::npos ? "" : tensor.substr(0, dot);
}

// "transformer_blocks.7" of "transformer_blocks.7.attn1.to_q": up to the first number; empty: in no block.
std::string block_of(const std::string& module) {
  std::size_t from = 0;
  while (from <= module.size()) {
    const std::size_t dot = std::min(module.find('.', from), module.size());
    const std::string word = module.substr(from, dot - from);
    const bool number =
        !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (number && from > 0) return module.substr(0, dot);
    from = dot + 1;
  }
  return "";
}

bool is_fp8(store::Dtype dtype) { return dtype == store::Dtype::kF8E4m3 || dtype == store::Dtype::kF8E5m2; }

// Bytes of the cast copy: a weight that is stored in fp8 is computed with in bf16.
Bytes cast_bytes(const cli::WeightTensor& weight) { return is_fp8(weight.dtype) ? weight.bytes * 2 : 0; }

// What a use writes: a linear weight's outputs, an embedding's rows.
Bytes output_bytes(const cli::WeightTensor& weight, const cli::TensorUse& use, const cli::Step& step) {
  if (use.tokens.empty() || weight.shape.size() < 2) return 0;
  const auto tokens = step.tokens.find(use.tokens);
  const std::uint64_t count = tokens == step.tokens.end() ? 1 : tokens->second;
  const std::uint64_t width = use.flops_per_token > 0 ? weight.shape.front() : weight.shape.back();
  return count * width * kBytesPerActivation;
}

struct Named {  // a model and which module each of its tensors belongs to
  Model model;
  std::vector<std::size_t> module_of_weight;
};

Named modules_of(const cli::Model& source) {
  Named named;
  named.model.name = source.name;
  std::map<std::string, std::size_t> known;
  std::set<std::string> parents{""};
  for (const cli::WeightTensor& weight : source.weights) {
    const std::string name = module_of(weight.name);
    const auto [entry, fresh] = known.emplace(name, named.model.modules.size());
    if (fresh) {
      named.model.modules.push_back({name, 0, 0, false});
      for (std::string above = module_of(name); !above.empty(); above = module_of(above)) parents.insert(above);
    }
    Module& module = named.model.modules[entry->second];
    module.bytes += round_up(weight.bytes, kAlignment);
    module.order += weight.bytes + cast_bytes(weight);
    named.module_of_weight.push_back(entry->second);
  }
  for (Module& module : named.model.modules) {
    module.loaded_at_once = module.bytes <= kLoadedAtOnce || parents.count(module.name) > 0;
    named.model.bytes += module.bytes;
  }
  return named;
}

// Consecutive tensors of one module are one use.
void add_uses(Node& node, const Named& named, const cli::Model& source, const cli::Step& step, double rate) {
  const std::vector<double> flops = cli::flops_of_pass(source, step);
  for (std::size_t i = 0; i < source.uses.size(); ++i) {
    const cli::TensorUse& use = source.uses[i];
    const cli::WeightTensor& weight = source.weights[use.weight];
    const std::size_t module = named.module_of_weight[use.weight];
    if (node.uses.empty() || node.uses.back().module != module) node.uses.push_back({module, 0, 0, 0});
    Use& last = node.uses.back();
    last.work_ns += static_cast<std::uint64_t>(std::llround(flops[i] / rate * 1e9));
    last.output += output_bytes(weight, use, step);
    last.cast += cast_bytes(weight);
  }
}

void add_groups(Node& node, const Model& model) {
  std::set<std::string> blocks;  // that hold modules: the layer "mlp.2" is none
  for (const Module& module : model.modules) {
    if (const std::string block = block_of(module.name); block != module.name) blocks.insert(block);
  }
  std::string open;
  for (std::size_t i = 0; i < node.uses.size(); ++i) {
    std::string block = node.samples ? block_of(model.modules[node.uses[i].module].name) : "";
    if (blocks.count(block) == 0) block.clear();
    if (!block.empty() && block == open) {
      ++node.groups.back().count;
      continue;
    }
    open = block;
    node.groups.push_back({i, 1, module_of(block)});
  }
}

}  // namespace

Needs needs_of(const cli::Workflow& workflow, double flops_per_second, std::uint32_t passes) {
  Needs needs;
  std::vector<Named> named;
  for (const cli::Model& source : workflow.models) {
    named.push_back(modules_of(source));
    needs.models.push_back(named.back().model);
  }
  for (const cli::Step& step : workflow.steps) {
    Node node;
    node.label = step.label;
    node.model = step.model;
    node.passes = passes == 0 ? step.passes : std::min(step.passes, passes);
    node.samples = step.tokens.count(kTimestep) > 0;
    add_uses(node, named[step.model], workflow.models[step.model], step, flops_per_second);
    add_groups(node, needs.models[step.model]);
    for (std::size_t i = 0; i < node.uses.size(); ++i) {  // three outputs live, and a cast copy
      Bytes live = node.uses[i].cast;
      for (std::size_t back = 0; back <= std::min<std::size_t>(i, 2); ++back) live += node.uses[i - back].output;
      node.peak_temporaries = std::max(node.peak_temporaries, live);
    }
    needs.nodes.push_back(std::move(node));
  }
  return needs;
}

}  // namespace tidegate::trial
