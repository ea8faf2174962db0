#include "cli/load_command.h"

#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/choose_card.h"
#include "cli/device_buffer.h"
#include "cli/exit_code.h"
#include "cli/quantities.h"
#include "src/base/checksum.h"
#include "src/base/system_info.h"
#include "src/driver/kernels.h"
#include "src/store/load.h"

namespace tidegate::cli {
namespace {

// Bytes a second of each round, in GB/s.
struct Leg {
  std::vector<double> rates;
  double median() const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  nlohmann::json json() const {
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    return {{"median_gb_per_s", median()}, {"min", *least}, {"max", *most}, {"n", rates.size()}};
  }
};

struct Measured {
  Bytes bytes = 0;
  Leg read;
  Leg copy;
  Leg load;
  Bytes ring = 0;
  Bytes grown = 0;  // the process's peak of resident memory over what it was before the loads, the ring included
  std::size_t wrong = 0;
  std::size_t checked = 0;

  double slower_leg() const { return std::min(read.median(), copy.median()); }
};

// Compares every tensor's checksum on the card with that of the file's bytes.
Result<void> check(Card& card, const std::string& path, const std::vector<store::Destination>& destinations,
                   Measured& measured) {
  const auto opened = store::open_model(path);  // through the page cache: tensors begin anywhere
  if (!opened) return opened.error();
  const store::ModelFile& file = opened.value();
  driver::Driver& driver = card.driver();
  const auto kernels = driver::CheckKernels::load(driver);
  if (!kernels) return kernels.error();
  OwnedStream stream(driver);
  if (auto made = stream.create(); !made) return made;
  DeviceBuffer sums(driver);
  const Bytes bytes = destinations.size() * sizeof(std::uint64_t);
  if (auto made = sums.allocate(bytes); !made) return made;
  auto status = driver.memset_d8_async(sums.address(), 0, bytes, stream.get());
  for (std::size_t i = 0; i < destinations.size() && status == driver::kSuccess; ++i) {
    status = kernels->launch_checksum(driver, destinations[i].address, file.tensors()[destinations[i].tensor].bytes,
                                      sums.address() + i * sizeof(std::uint64_t), stream.get());
  }
  std::vector<std::uint64_t> found(destinations.size());
  if (status == driver::kSuccess) status = driver.memcpy_dtoh_async(found.data(), sums.address(), bytes, stream.get());
  if (auto done = checked(driver, status, "checking contents"); !done) return done;
  if (auto done = stream.synchronize(); !done) return done;
  std::vector<std::byte> buffer(4 * kMiB);
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const store::StoredTensor& tensor = file.tensors()[destinations[i].tensor];
    std::uint64_t sum = 0;
    for (Bytes at = 0; at < tensor.bytes; at += buffer.size()) {
      const Bytes part = std::min<Bytes>(buffer.size(), tensor.bytes - at);
      if (auto got = file.read(tensor, at, buffer.data(), part); !got) return got;
      sum += base::checksum(buffer.data(), part, at / 8);
    }
    ++measured.checked;
    if (sum != found[i]) ++measured.wrong;
  }
  return {};
}

Result<Measured> measure(const LoadArguments& arguments, ChosenCard& chosen, const store::ModelFile& file, Bytes ring) {
  Card& card = *chosen.card;
  Measured measured;
  std::vector<store::Destination> destinations;
  Bytes room = 0;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const store::StoredTensor& tensor = file.tensors()[i];
    if (tensor.bytes == 0 || tensor.same_as != i) continue;
    destinations.push_back({i, room});
    room += round_up(tensor.bytes, 512);
  }
  if (destinations.empty()) return Error{Errc::kBadFile, arguments.input + ": holds no tensor with any bytes"};
  DeviceBuffer memory(card.driver());
  if (auto made = memory.allocate(room); !made) {
    Error error = made.error();
    error.message +=
        fmt::format("; {} of the card's memory are needed: tidegate run pages what does not fit", format_size(room));
    return error;
  }
  for (store::Destination& destination : destinations) destination.address += memory.address();

  store::LoadOptions options;
  options.readers = arguments.readers;
  // A 128th of the ring stays free for the readers' own memory, so that the whole takes no more than was asked for.
  options.piece = round_down((ring - ring / 128) / (2 * arguments.readers), base::InputFile::kDirectAlign);
  if (options.piece == 0) return Error{Errc::kInvalidArgument, "--ring: less than two pages for each reader"};
  store::PinnedArena arena(card.driver(), options.ring_bytes());
  measured.ring = options.ring_bytes();
  const Bytes before = base::peak_resident_bytes();
  const auto run = [&](Leg& leg, bool read, bool copy) -> Result<void> {
    options.read = read;
    options.copy = copy;
    if (arguments.cold && read) {
      for (const base::InputFile& each : file.files()) each.drop_cache();
    }
    const auto stats = store::load_to_card(card, arena, file, destinations, options);
    if (!stats) return stats.error();
    measured.bytes = stats->bytes;
    leg.rates.push_back(static_cast<double>(stats->bytes) / static_cast<double>(std::max<base::Nanos>(stats->took, 1)));
    return {};
  };
  // Warm means warm: the first round of all is not counted.
  Leg ignored;
  if (!arguments.cold) {
    if (auto done = run(ignored, true, true); !done) return done.error();
  }
  for (unsigned round = 0; round < arguments.rounds; ++round) {
    // A disk's speed depends on what was asked of it just before: neither of the two that read it is always the second.
    const bool load_first = round % 2 == 1;
    if (load_first) {
      if (auto done = run(measured.load, true, true); !done) return done.error();
    }
    if (auto done = run(measured.read, true, false); !done) return done.error();
    if (auto done = run(measured.copy, false, true); !done) return done.error();
    if (load_first) continue;
    if (auto done = run(measured.load, true, true); !done) return done.error();
  }
  measured.grown = base::peak_resident_bytes() - before;
  if (arguments.check) {
    if (auto done = check(card, arguments.input, destinations, measured); !done) return done.error();
  }
  return measured;
}

Result<bool> load(const LoadArguments& arguments) {
  const auto ring = parse_size(arguments.ring);
  if (!ring) return Error{Errc::kInvalidArgument, "--ring: " + ring.error().message};
  const auto cache = arguments.direct ? base::InputFile::Cache::kDirect : base::InputFile::Cache::kPage;
  const auto file = store::open_model(arguments.input, cache);
  if (!file) return file.error();
  RunOptions options;
  options.card = arguments.card;
  auto chosen = choose_card(options);
  if (!chosen) return chosen.error();
  const auto measured = measure(arguments, chosen.value(), file.value(), ring.value());
  if (!measured) return measured.error();

  const bool direct = file->files().front().direct();
  // On a simulated card the disk takes no time: the copies alone are modelled.
  const std::string kind = chosen->sim != nullptr ? "modelled by the simulated card" : "measured";
  const double ratio = measured->load.median() / measured->slower_leg();
  if (arguments.json) {
    nlohmann::json json{{"file", arguments.input},
                        {"format", file->format()},
                        {"card", chosen->card->name()},
                        {"figures", kind},
                        {"bytes", measured->bytes},
                        {"cache", arguments.cold ? "cold" : "warm"},
                        {"direct", direct},
                        {"readers", arguments.readers},
                        {"ring_bytes", measured->ring},
                        {"host_memory_grown_bytes", measured->grown},
                        {"copy", measured->copy.json()},
                        {"load", measured->load.json()},
                        {"load_over_slower_leg", ratio}};
    if (chosen->sim == nullptr) json["read"] = measured->read.json();
    if (arguments.check) json["checked"] = {{"tensors", measured->checked}, {"wrong", measured->wrong}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}: {} on {}; figures {}, medians of {}\n", arguments.input, format_size(measured->bytes),
               chosen->card->name(), kind, arguments.rounds);
    fmt::print("  {} reads, {}, {} readers, ring of {}\n", arguments.cold ? "cold" : "warm",
               direct ? "past the page cache" : "through the page cache", arguments.readers,
               format_size(measured->ring));
    if (chosen->sim == nullptr) fmt::print("  file alone      {:>8.2f} GB/s\n", measured->read.median());
    fmt::print("  copies alone    {:>8.2f} GB/s\n", measured->copy.median());
    fmt::print("  file to card    {:>8.2f} GB/s: {:.3f} of the slower leg\n", measured->load.median(), ratio);
    fmt::print("  host memory     {} more than before, the ring included\n", format_size(measured->grown));
    if (arguments.check) {
      fmt::print("  contents        {} tensors checked, {} wrong\n", measured->checked, measured->wrong);
    }
  }
  return measured->wrong == 0;
}

}  // namespace

CLI::App* add_load_command(CLI::App& app, LoadArguments& arguments) {
  CLI::App* load = app.add_subcommand(
      "load",
      "Read a model file to the card through a bounded ring of page-locked memory, and measure it beside its legs.");
  load->add_option("file", arguments.input, "MODEL.safetensors, MODEL.safetensors.index.json or MODEL.gguf")
      ->required();
  load->add_option("--card", arguments.card, "As for tidegate run");
  load->add_option("--ring", arguments.ring, "Page-locked host memory to use")->capture_default_str();
  load->add_option("--readers", arguments.readers, "Reads in flight")
      ->capture_default_str()
      ->check(CLI::Range(1u, 64u));
  load->add_option("--rounds", arguments.rounds, "How often each is measured")
      ->capture_default_str()
      ->check(CLI::Range(1u, 101u));
  load->add_flag("--direct", arguments.direct, "Read past the page cache, where the file system can");
  load->add_flag("--cold", arguments.cold, "Ask the system to forget the file before each read");
  load->add_flag("--check", arguments.check, "Compare every tensor on the card with the file");
  load->add_flag("--json", arguments.json, "JSON in place of the table");
  return load;
}

int load_command(const LoadArguments& arguments) {
  const auto right = load(arguments);
  if (!right) return say_error(right.error());
  if (right.value()) return 0;
  std::fprintf(stderr, "tidegate: bytes on the card are not those of the file\n");
  return kFailed;
}

}  // namespace tidegate::cli
