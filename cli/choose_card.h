// Which card a run uses, and why.
#pragma once

#include <memory>
#include <string>

#include "cli/options.h"
#include "sim/open_card.h"
#include "tidegate/card.h"
#include "tidegate/result.h"

namespace tidegate::cli {

inline constexpr const char* kDefaultProfile = "rtx3050-6g-wddm";

struct ChosenCard {
  std::unique_ptr<Card> card;
  sim::SimCard* sim = nullptr;  // the same card, where it is simulated
  std::string why;              // "the real GPU", "simulated: no CUDA driver: ..."
};

// --card cuda or cuda:N: the real one, or an error. Another --card: simulated. None: the real one if there is one, else
// kDefaultProfile.
Result<ChosenCard> choose_card(const RunOptions& options);

}  // namespace tidegate::cli
