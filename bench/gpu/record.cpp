#include "bench/gpu/record.h"

#include <ctime>
#include <thread>

#include <fmt/format.h>

#include "src/driver/driver.h"
#include "src/driver/nvml_library.h"
#include "tidegate_build.h"

namespace tidegate::bench {

nlohmann::json provenance(Card& card, const std::string& part) {
  nlohmann::json head{{"part", part},
                      {"figures", card.simulated() ? "modelled by the simulated card" : "measured on the device"},
                      {"card", card.name()},
                      {"driver", card.driver().description()},
                      {"commit", TIDEGATE_GIT_DESCRIBE}};
  if (card.simulated()) return head;
  if (auto nvml = driver::load_nvml()) {
    char version[80] = {};
    if ((*nvml)->system_get_driver_version(version, sizeof version) == nvml::kSuccess) head["driver_version"] = version;
  }
  head["cpus"] = std::thread::hardware_concurrency();
  const std::time_t now = std::time(nullptr);
  char date[16] = {};
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  head["date"] = date;
  return head;
}

}  // namespace tidegate::bench
