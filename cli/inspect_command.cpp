#include "cli/inspect_command.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bounds.h"
#include "cli/calibrate.h"
#include "cli/choose_card.h"
#include "cli/exit_code.h"
#include "cli/quantities.h"
#include "src/pager/frames.h"
#include "src/store/model_file.h"
#include "tidegate/pager.h"

namespace tidegate::cli {
namespace {

constexpr int kPercents[] = {25, 50, 75, 90, 100};

struct TypeCount {
  std::size_t tensors = 0;
  Bytes bytes = 0;
};

// What the pager would make of the file.
struct Needs {
  Bytes weights = 0;  // tied ones once, as blocks
  std::size_t blocks = 0;
  std::size_t small = 0;  // weights that share one block
  std::size_t tied = 0;
  const store::StoredTensor* largest = nullptr;
  Bytes frame = 0;
  Bytes floor = 0;
  std::map<std::string, TypeCount> types;
};

Needs needs_of(const store::ModelFile& file, Bytes card_bytes) {
  Needs needs;
  const Bytes small_limit = PagerOptions{}.small_weight;
  Bytes packed = 0;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const store::StoredTensor& tensor = file.tensors()[i];
    if (tensor.bytes == 0) continue;
    TypeCount& type = needs.types[tensor.type];
    ++type.tensors;
    if (tensor.same_as != i) {
      ++needs.tied;
      continue;
    }
    type.bytes += tensor.bytes;
    if (needs.largest == nullptr || tensor.bytes > needs.largest->bytes) needs.largest = &tensor;
    if (tensor.bytes <= small_limit) {
      ++needs.small;
      packed += round_up(tensor.bytes, 256);
    } else {
      ++needs.blocks;
      needs.weights += round_up(tensor.bytes, 512);
    }
  }
  needs.blocks += needs.small > 0 ? 1 : 0;
  needs.weights += round_up(packed, 512);
  needs.frame = frame_for(needs.weights);
  if (needs.frame == 0) needs.frame = pager::default_frame_bytes(card_bytes);
  const Bytes largest = needs.largest == nullptr ? 0 : needs.largest->bytes;
  needs.floor = round_up(2 * std::max(largest, packed), needs.frame);
  return needs;
}

struct Row {
  Bytes budget = 0;
  Bounds bounds;
  bool below_floor = false;
};

Row row_of(const Needs& needs, Bytes budget, double link) {
  Row row{budget, {}, budget < needs.floor};
  BoundInputs inputs;
  inputs.weights = needs.weights;
  inputs.budget = budget;
  inputs.frame_bytes = needs.frame;
  inputs.largest_streamed = budget >= needs.weights || needs.largest == nullptr ? 0 : needs.largest->bytes;
  inputs.link_bytes_per_second = link;
  row.bounds = bounds_of(inputs);
  return row;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

struct Report {
  const InspectArguments& arguments;
  const store::ModelFile& file;
  const Needs& needs;
  const std::vector<Row>& rows;
  const std::string& card;
  double link;
  const std::string& link_kind;
};

void print_json(const Report& report) {
  const Needs& needs = report.needs;
  nlohmann::json json{{"file", report.arguments.input},
                      {"format", report.file.format()},
                      {"files", report.file.files().size()},
                      {"tensors", report.file.tensors().size()},
                      {"tied", needs.tied},
                      {"bytes", report.file.bytes()},
                      {"blocks", needs.blocks},
                      {"small_weights", needs.small},
                      {"block_bytes", needs.weights},
                      {"floor_bytes", needs.floor},
                      {"frame_bytes", needs.frame},
                      {"card", report.card},
                      {"link_bytes_per_second", report.link},
                      {"link_kind", report.link_kind},
                      {"bound_kind", "computed: transfer only, the compute is not known"}};
  if (needs.largest != nullptr) json["largest"] = {{"name", needs.largest->name}, {"bytes", needs.largest->bytes}};
  for (const auto& [type, count] : needs.types) {
    json["types"].push_back({{"type", type}, {"tensors", count.tensors}, {"bytes", count.bytes}});
  }
  for (const Row& row : report.rows) {
    json["budgets"].push_back({{"budget_bytes", row.budget},
                               {"below_floor", row.below_floor},
                               {"bound_plain_seconds", row.bounds.plain},
                               {"bound_seconds", row.bounds.grain}});
  }
  for (const auto& [key, value] : report.file.metadata()) json["metadata"][key] = value;
  if (report.arguments.tensors) {
    for (const store::StoredTensor& tensor : report.file.tensors()) {
      json["tensor_list"].push_back({{"name", tensor.name},
                                     {"type", tensor.type},
                                     {"shape", tensor.shape},
                                     {"bytes", tensor.bytes},
                                     {"file", report.file.files()[tensor.file].path()},
                                     {"offset", tensor.offset}});
    }
  }
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_table(const Report& report) {
  const Needs& needs = report.needs;
  fmt::print("{}: {}, {} tensors, {}", report.arguments.input, report.file.format(),
             format_count(report.file.tensors().size()), format_size(report.file.bytes()));
  fmt::print("{}\n", needs.tied > 0 ? fmt::format(" ({} of them tied, counted once)", needs.tied) : std::string());
  for (const auto& [type, count] : needs.types) {
    fmt::print("  {:<10} {:>7} tensors {:>12}\n", type, format_count(count.tensors), format_size(count.bytes));
  }
  if (needs.largest != nullptr) {
    fmt::print("largest  {} {} {}, {}\n", needs.largest->name, shape_text(needs.largest->shape), needs.largest->type,
               format_size(needs.largest->bytes));
  }
  fmt::print("blocks   {}, one of them of {} small weights\n", format_count(needs.blocks), format_count(needs.small));
  fmt::print("floor    {}: twice the largest block, in whole frames of {} (computed)\n", format_size(needs.floor),
             format_size(needs.frame));
  fmt::print("card     {}, link {:.2f} GB/s ({})\n\n", report.card, report.link / 1e9, report.link_kind);
  fmt::print("{:>12} {:>8} {:>14} {:>14}\n", "budget", "share", "plain bound", "with grain");
  for (const Row& row : report.rows) {
    const double share = needs.weights == 0 ? 1 : static_cast<double>(row.budget) / static_cast<double>(needs.weights);
    fmt::print("{:>12} {:>7.0f}% {:>14} {:>14}{}\n", format_size(row.budget), 100 * share,
               format_seconds(row.bounds.plain), format_seconds(row.bounds.grain),
               row.below_floor ? "  below the floor" : "");
  }
  fmt::print(
      "A pass takes at least so long (computed): the bytes that do not fit, over the link. The compute is not known; "
      "where\n"
      "it is longer, it is the bound.\n");
  if (!report.arguments.tensors) return;
  fmt::print("\n");
  for (const store::StoredTensor& tensor : report.file.tensors()) {
    fmt::print("{:<64} {:<8} {:>12} {}\n", tensor.name, tensor.type, format_size(tensor.bytes),
               shape_text(tensor.shape));
  }
}

Result<void> inspect(const InspectArguments& arguments) {
  std::vector<Bytes> budgets;
  for (const std::string& text : arguments.budgets) {
    const auto budget = parse_size(text);
    if (!budget) return Error{Errc::kInvalidArgument, "--budget: " + budget.error().message};
    budgets.push_back(budget.value());
  }
  const auto file = store::open_model(arguments.input);
  if (!file) return file.error();
  RunOptions options;
  options.card = arguments.card;
  auto chosen = choose_card(options);
  if (!chosen) return chosen.error();
  const auto kernels = driver::CheckKernels::load(chosen->card->driver());
  if (!kernels) return kernels.error();
  const auto calibration = calibrate(chosen.value(), kernels.value(), 1);
  if (!calibration) return calibration.error();

  const Needs needs = needs_of(file.value(), chosen->card->total_bytes());
  if (budgets.empty()) {
    for (const int percent : kPercents) {
      budgets.push_back(round_up(needs.weights / 100 * static_cast<Bytes>(percent), needs.frame));
    }
  }
  std::vector<Row> rows;
  for (const Bytes budget : budgets) rows.push_back(row_of(needs, budget, calibration->link_bytes_per_second));
  const Report report{arguments,
                      file.value(),
                      needs,
                      rows,
                      chosen->card->name(),
                      calibration->link_bytes_per_second,
                      calibration->link_kind};
  if (arguments.json) {
    print_json(report);
  } else {
    print_table(report);
  }
  return {};
}

}  // namespace

CLI::App* add_inspect_command(CLI::App& app, InspectArguments& arguments) {
  CLI::App* inspect = app.add_subcommand(
      "inspect", "What a model file holds, what it needs on this card, and how long a pass takes at least, by budget.");
  inspect->add_option("file", arguments.input, "MODEL.safetensors, MODEL.safetensors.index.json or MODEL.gguf")
      ->required();
  inspect->add_option("--card", arguments.card,
                      "Whose link and frames to reckon with: as for tidegate run. Default: the GPU if there is one");
  inspect->add_option("--budget", arguments.budgets,
                      "Budgets to reckon with, such as 6GiB 8GiB. Default: 25, 50, 75, 90 and 100 % of the weights");
  inspect->add_flag("--json", arguments.json, "JSON in place of the table");
  inspect->add_flag("--tensors", arguments.tensors, "List every tensor as well");
  inspect->footer("tidegate inspect model.safetensors --card rtx3050-6g-linux --budget 4GiB 5GiB");
  return inspect;
}

int inspect_command(const InspectArguments& arguments) {
  const Result<void> done = inspect(arguments);
  return done ? 0 : say_error(done.error());
}

}  // namespace tidegate::cli
