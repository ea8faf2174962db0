#include "front/choose_backend.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "sim/local_backend.h"
#include "sim/remote/connect.h"

namespace tidegate::front {

namespace {

std::vector<std::string> words_of(const char* text) {
  std::vector<std::string> words;
  std::istringstream in(text == nullptr ? "" : text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

Result<std::unique_ptr<sim::Backend>> choose_backend() {
  const char* broker = std::getenv(kBrokerVariable);
  if (broker != nullptr && *broker != '\0') return sim::connect_backend(broker);
  const char* card = std::getenv(kCardVariable);
  return sim::open_local_backend(card != nullptr && *card != '\0' ? card : kDefaultCard,
                                 words_of(std::getenv(kChangesVariable)));
}

}  // namespace tidegate::front
