#include "cli/choose_card.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace tidegate::cli {
namespace {

constexpr std::string_view kCuda = "cuda";

Result<ChosenCard> simulated(const RunOptions& options, const std::string& profile, std::string why) {
  sim::SimCardOptions card_options;
  card_options.seed = options.seed;
  card_options.pace = options.real_time ? 1 : 0;
  auto opened = sim::SimCard::open(profile, card_options);
  if (!opened) return opened.error();
  ChosenCard chosen;
  chosen.sim = opened.value().get();
  chosen.card = std::move(opened).value();
  chosen.why = std::move(why);
  return chosen;
}

Result<ChosenCard> real(int ordinal, std::string why) {
  auto opened = open_cuda_card(ordinal);
  if (!opened) return opened.error();
  return ChosenCard{std::move(opened).value(), nullptr, std::move(why)};
}

}  // namespace

Result<ChosenCard> choose_card(const RunOptions& options) {
  const std::string_view card = options.card;
  if (card.empty()) {
    auto found = real(0, "the real GPU");
    if (found) return found;
    return simulated(options, kDefaultProfile, "simulated, because there is no usable GPU: " + found.error().message);
  }
  if (card == kCuda) return real(0, "the real GPU, as asked");
  if (card.substr(0, kCuda.size() + 1) == "cuda:") {
    const std::string_view number = card.substr(kCuda.size() + 1);
    int ordinal = -1;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
    if (fault != std::errc{} || end != number.data() + number.size() || ordinal < 0) {
      return Error{Errc::kInvalidArgument, "--card " + options.card + ": write cuda or cuda:N"};
    }
    return real(ordinal, "the real GPU, as asked");
  }
  return simulated(options, options.card, "simulated, as asked");
}

}  // namespace tidegate::cli
