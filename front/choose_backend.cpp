#include "front/choose_backend.h"

#include <cstdlib>
#include <string>

#include "sim/local_backend.h"

namespace tidegate::front {

Result<std::unique_ptr<sim::Backend>> choose_backend() {
  const char* card = std::getenv(kCardVariable);
  return sim::open_local_backend(card != nullptr && *card != '\0' ? card : kDefaultCard);
}

}  // namespace tidegate::front
