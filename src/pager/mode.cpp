// The one switch of the mode.
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "tidegate/pager.h"

namespace tidegate {

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::kDynamic:
      return "dynamic";
    case Mode::kStatic:
      return "static";
    case Mode::kOff:
      return "off";
  }
  return "unknown";
}

Result<Mode> mode_from_environment() {
  const char* value = std::getenv(kModeVariable);
  if (value == nullptr || *value == '\0') return Mode::kDynamic;
  for (const Mode mode : {Mode::kDynamic, Mode::kStatic, Mode::kOff}) {
    if (std::string(value) == name_of(mode)) return mode;
  }
  return Error{Errc::kInvalidArgument,
               fmt::format("{} is '{}'; it takes dynamic, static or off", kModeVariable, value)};
}

}  // namespace tidegate
