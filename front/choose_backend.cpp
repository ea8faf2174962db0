#include "front/choose_backend.h"

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "sim/local_backend.h"
#include "sim/options.h"
#include "sim/remote/connect.h"

namespace tidegate::front {

namespace {

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Result<sim::LocalOptions> local_options() {
  sim::LocalOptions options;
  options.card = text_of(kCardVariable);
  if (options.card.empty()) options.card = kDefaultCard;
  options.changes = words_of(text_of(kChangesVariable));
  if (const std::string seed = text_of(kSeedVariable); !seed.empty()) {
    const auto [end, fault] = std::from_chars(seed.data(), seed.data() + seed.size(), options.seed);
    if (fault != std::errc{} || end != seed.data() + seed.size()) {
      return Error{Errc::kInvalidArgument, std::string(kSeedVariable) + "=" + seed + ": not a number"};
    }
  }
  const std::string time = text_of(kTimeVariable);
  if (!time.empty() && time != "real" && time != "virtual") {
    return Error{Errc::kInvalidArgument, std::string(kTimeVariable) + "=" + time + ": neither real nor virtual"};
  }
  options.virtual_time = time == "virtual";
  if (!text_of(kTagsVariable).empty()) options.tags_from = sim::kTaggedCopies;
  options.hazards = text_of(kHazardsVariable);
  options.trace = text_of(kTraceVariable);
  return options;
}

}  // namespace

Result<std::unique_ptr<sim::Backend>> choose_backend() {
  if (const std::string broker = text_of(kBrokerVariable); !broker.empty()) return sim::connect_backend(broker);
  const auto options = local_options();
  if (!options) return options.error();
  return sim::open_local_backend(options.value());
}

}  // namespace tidegate::front
