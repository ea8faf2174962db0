#include "front/choose_backend.h"

#include <cstdlib>
#include <string>

#include "sim/local_backend.h"
#include "sim/remote/connect.h"

namespace tidegate::front {

Result<std::unique_ptr<sim::Backend>> choose_backend() {
  const char* broker = std::getenv(kBrokerVariable);
  if (broker != nullptr && *broker != '\0') return sim::connect_backend(broker);
  const char* card = std::getenv(kCardVariable);
  return sim::open_local_backend(card != nullptr && *card != '\0' ? card : kDefaultCard);
}

}  // namespace tidegate::front
