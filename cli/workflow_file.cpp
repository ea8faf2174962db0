// Reading workflow files. Everything is checked here, so that nobody after it has to.
#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cli/workflow.h"
#include "src/base/mapped_file.h"
#include "src/store/strict_json.h"

namespace tidegate::cli {
namespace {

using Node = store::JsonReader::Node;
using store::printable;

// Limits: far beyond any real model, and small enough that no sum of ours overflows.
constexpr Bytes kLargestFile = 64 * kMiB;
constexpr Bytes kLargestTensor = 1024 * kGiB;
constexpr Bytes kLargestModel = 16 * 1024 * kGiB;
constexpr std::uint64_t kMostTensors = 1'000'000;  // of one model, after repetition
constexpr std::size_t kMostModels = 1'000;
constexpr std::size_t kMostSteps = 100'000;
constexpr std::size_t kMostDimensions = 16;
constexpr std::uint64_t kMostPasses = 1'000'000;
constexpr std::uint64_t kMostTokens = 1'000'000'000'000;
constexpr std::uint64_t kSchemaVersion = 1;

struct TensorEntry {  // as listed, before repetition
  Node node;
  std::string name;
  std::vector<std::uint64_t> shape;
  store::Dtype dtype{};
  std::uint64_t elements = 0;
  Bytes bytes = 0;
  Op op{};
  std::string tokens;
  std::string tied_to;
};

std::string with_number(const std::string& name, std::uint64_t number) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t at; (at = name.find("{}", from)) != std::string::npos; from = at + 2) {
    out.append(name, from, at - from);
    out += std::to_string(number);
  }
  return out.append(name, from);
}

class Loader {
 public:
  explicit Loader(const std::string& where) : reader_(where) {}

  Result<Workflow> load(const store::Json& json) {
    const Node root{&json, "$"};
    Workflow workflow;
    if (!reader_.check_object(root, {"tidegate_workflow", "name", "models", "steps"}, {"description"})) {
      return reader_.error();
    }
    const Node version = reader_.member(root, "tidegate_workflow");
    reader_.whole(version, kSchemaVersion, kSchemaVersion);
    workflow.name = reader_.text(reader_.member(root, "name"));
    if (reader_.has(root, "description"))
      workflow.description = reader_.text(reader_.member(root, "description"), 8192);
    for (const Node& node : some(reader_.member(root, "models"), kMostModels)) {
      if (!read_model(node, workflow)) return reader_.error();
    }
    for (const Node& node : some(reader_.member(root, "steps"), kMostSteps)) {
      if (!read_step(node, workflow)) return reader_.error();
    }
    if (reader_.failed()) return reader_.error();
    return workflow;
  }

 private:
  std::vector<Node> some(const Node& at, std::size_t most) {
    auto nodes = reader_.elements(at, most);
    if (nodes.empty()) reader_.fail(at, "must not be empty");
    return nodes;
  }

  bool read_model(const Node& node, Workflow& workflow) {
    if (!reader_.check_object(node, {"name", "groups"}, {"title", "assumed"})) return false;
    Model model;
    const Node name = reader_.member(node, "name");
    model.name = reader_.text(name);
    for (const Model& other : workflow.models) {
      if (other.name == model.name) return reader_.fail(name, printable(model.name) + " is the name of two models");
    }
    if (reader_.has(node, "title")) model.title = reader_.text(reader_.member(node, "title"), 4096);
    if (reader_.has(node, "assumed")) {
      for (const Node& text : reader_.elements(reader_.member(node, "assumed"), 1000)) {
        model.assumed.push_back(reader_.text(text, 8192));
      }
    }
    seen_.clear();
    for (const Node& group : some(reader_.member(node, "groups"), kMostTensors)) {
      if (!read_group(group, model)) return false;
    }
    if (model.bytes() > kLargestModel) return reader_.fail(node, "adds up to more than 16 TiB");
    workflow.models.push_back(std::move(model));
    return !reader_.failed();
  }

  bool read_group(const Node& node, Model& model) {
    if (!reader_.check_object(node, {"tensors"}, {"repeat", "first"})) return false;
    const std::uint64_t repeat =
        reader_.has(node, "repeat") ? reader_.whole(reader_.member(node, "repeat"), 1, kMostTensors) : 1;
    const std::uint64_t first =
        reader_.has(node, "first") ? reader_.whole(reader_.member(node, "first"), 0, kMostTensors) : 0;
    std::vector<TensorEntry> entries;
    for (const Node& tensor : some(reader_.member(node, "tensors"), kMostTensors)) {
      entries.push_back(read_tensor(tensor));
      if (reader_.failed()) return false;
      if (repeat > 1 && entries.back().name.find("{}") == std::string::npos) {
        return reader_.fail(reader_.member(tensor, "name"), "is repeated and has no {} for the number");
      }
    }
    if (model.uses.size() + entries.size() * repeat > kMostTensors) return reader_.fail(node, "too many tensors");
    for (std::uint64_t number = first; number < first + repeat; ++number) {
      for (const TensorEntry& entry : entries) {
        if (!add_use(entry, number, model)) return false;
      }
    }
    return true;
  }

  TensorEntry read_tensor(const Node& node) {
    TensorEntry entry;
    entry.node = node;
    if (!reader_.check_object(node, {"name", "shape", "dtype", "op"}, {"tokens", "tied_to"})) return entry;
    entry.name = reader_.text(reader_.member(node, "name"));
    const Node shape = reader_.member(node, "shape");
    for (const Node& extent : some(shape, kMostDimensions)) {
      entry.shape.push_back(reader_.whole(extent, 1, kLargestTensor));
    }
    const Node dtype_node = reader_.member(node, "dtype");
    const std::string dtype = reader_.text(dtype_node, 16);
    const Node op_node = reader_.member(node, "op");
    const std::string op = reader_.text(op_node, 16);
    if (reader_.has(node, "tokens")) entry.tokens = reader_.text(reader_.member(node, "tokens"));
    if (reader_.has(node, "tied_to")) entry.tied_to = reader_.text(reader_.member(node, "tied_to"));
    if (reader_.failed()) return entry;

    if (const auto known = store::dtype_of(dtype)) {
      entry.dtype = *known;
    } else {
      reader_.fail(dtype_node, "unknown type " + printable(dtype));
    }
    if (op == "linear") {
      entry.op = Op::kLinear;
    } else if (op == "embedding") {
      entry.op = Op::kEmbedding;
    } else if (op == "elementwise") {
      entry.op = Op::kElementwise;
    } else {
      reader_.fail(op_node, "unknown operation " + printable(op) + ": linear, embedding or elementwise");
    }
    if (reader_.failed()) return entry;

    if (entry.op != Op::kElementwise && entry.tokens.empty()) {
      reader_.fail(node, "lacks the key 'tokens', which a " + op + " tensor needs");
    }
    const auto elements = store::element_count(entry.shape);
    const auto bytes = elements ? store::bytes_of(entry.dtype, *elements) : std::nullopt;
    if (!bytes || *bytes > kLargestTensor) {
      reader_.fail(shape, "is a tensor of more than 1 TiB, or of no whole number of bytes");
      return entry;
    }
    entry.elements = *elements;
    entry.bytes = *bytes;
    return entry;
  }

  bool add_use(const TensorEntry& entry, std::uint64_t number, Model& model) {
    const std::string name = with_number(entry.name, number);
    std::size_t weight = model.weights.size();
    if (!entry.tied_to.empty()) {
      const std::string target = with_number(entry.tied_to, number);
      const Node node = reader_.member(entry.node, "tied_to");
      const auto found = seen_.find(target);
      if (found == seen_.end()) return reader_.fail(node, printable(target) + " is no earlier tensor of this model");
      weight = found->second;
      const WeightTensor& other = model.weights[weight];
      if (other.shape != entry.shape || other.dtype != entry.dtype) {
        return reader_.fail(node, printable(target) + " has another shape or type");
      }
    }
    if (!seen_.emplace(name, weight).second) return reader_.fail(entry.node, printable(name) + " is listed twice");
    if (weight == model.weights.size())
      model.weights.push_back({name, entry.shape, entry.dtype, entry.bytes, kNotStored, 0});
    const double flops = entry.op == Op::kLinear ? 2 * static_cast<double>(entry.elements) : 0;
    model.uses.push_back({weight, flops, entry.tokens});
    return true;
  }

  bool read_step(const Node& node, Workflow& workflow) {
    if (!reader_.check_object(node, {"label", "model", "passes"}, {"tokens"})) return false;
    Step step;
    step.label = reader_.text(reader_.member(node, "label"));
    step.passes = static_cast<std::uint32_t>(reader_.whole(reader_.member(node, "passes"), 1, kMostPasses));
    const Node model_node = reader_.member(node, "model");
    const std::string model = reader_.text(model_node);
    const Node tokens_node = reader_.has(node, "tokens") ? reader_.member(node, "tokens") : node;
    if (reader_.has(node, "tokens")) {
      if (!tokens_node.value->is_object()) return reader_.fail(tokens_node, "must be an object");
      for (const auto& item : tokens_node.value->items()) {
        step.tokens[item.key()] =
            reader_.whole({&item.value(), tokens_node.path + "." + printable(item.key())}, 0, kMostTokens);
      }
    }
    if (reader_.failed()) return false;
    const auto found = std::find_if(workflow.models.begin(), workflow.models.end(),
                                    [&](const Model& candidate) { return candidate.name == model; });
    if (found == workflow.models.end()) return reader_.fail(model_node, "there is no model " + printable(model));
    step.model = static_cast<std::size_t>(found - workflow.models.begin());
    for (const TensorUse& use : found->uses) {
      if (!use.tokens.empty() && step.tokens.count(use.tokens) == 0) {
        return reader_.fail(tokens_node,
                            "lacks the count of " + printable(use.tokens) + " tokens, which the model uses");
      }
    }
    workflow.steps.push_back(std::move(step));
    return true;
  }

  store::JsonReader reader_;
  std::unordered_map<std::string, std::size_t> seen_;  // tensors of the model being read: index in Model::weights
};

}  // namespace

Result<Workflow> parse_workflow(std::string_view json, const std::string& where) {
  const auto parsed = store::parse_strict_json(json, where);
  if (!parsed) return parsed.error();
  return Loader(where).load(parsed.value());
}

Result<Workflow> load_workflow(const std::string& path) {
  const auto file = base::MappedFile::open(path);
  if (!file) return file.error();
  const auto bytes = file.value().bytes();
  if (bytes.size() > kLargestFile) return Error{Errc::kBadFile, path + ": too large for a workflow (over 64 MiB)"};
  return parse_workflow({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace tidegate::cli
