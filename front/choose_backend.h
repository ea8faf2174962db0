// The one place where it is decided what stands behind the driver's face.
#pragma once

#include "sim/backend.h"

namespace tidegate::front {

inline constexpr const char* kBrokerVariable = "TIDEGATE_BROKER";     // a broker's socket, set by `tidegate sim exec`
inline constexpr const char* kCardVariable = "TIDEGATE_CARD";         // a profile, without a broker
inline constexpr const char* kChangesVariable = "TIDEGATE_CARD_SET";  // group.key=value, apart by spaces, on top of it
inline constexpr const char* kSeedVariable = "TIDEGATE_SIM_SEED";     // and the further ones, without a broker
inline constexpr const char* kTimeVariable = "TIDEGATE_SIM_TIME";     // real, virtual
inline constexpr const char* kTagsVariable = "TIDEGATE_SIM_TAGS";     // not empty: copies carry content tags
inline constexpr const char* kHazardsVariable = "TIDEGATE_SIM_HAZARDS";  // files, written when the process ends
inline constexpr const char* kTraceVariable = "TIDEGATE_SIM_TRACE";
inline constexpr const char* kDefaultCard = "rtx3050-6g-linux";  // loading our library is a choice made already

Result<std::unique_ptr<sim::Backend>> choose_backend();

}  // namespace tidegate::front
