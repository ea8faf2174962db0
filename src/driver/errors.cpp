#include "src/driver/errors.h"

#include <string>

namespace tidegate::driver {

Error driver_error(Driver& driver, Status status, const char* what) {
  const char* name = nullptr;
  const char* text = nullptr;
  const bool named = driver.get_error_name(status, &name) == kSuccess && name != nullptr;
  const bool told = driver.get_error_string(status, &text) == kSuccess && text != nullptr;
  std::string message = what;
  message += named ? std::string(": ") + name + " (" : std::string(": CUDA status (");
  message += std::to_string(static_cast<unsigned>(status)) + ")";
  if (told) message += std::string(": ") + text;
  return Error{Errc::kDriver, std::move(message), static_cast<int>(status)};
}

Error nvml_error(Nvml& nvml, nvml::Status status, const char* what) {
  const char* text = nvml.error_string(status);
  std::string message = std::string(what) + ": NVML " + std::to_string(static_cast<unsigned>(status));
  if (text != nullptr) message += std::string(": ") + text;
  return Error{Errc::kDriver, std::move(message), static_cast<int>(status)};
}

}  // namespace tidegate::driver
