#include "cli/quantities.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace tidegate::cli {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 9> kUnits{{{"B", 1},
                                      {"KiB", 0x1p10},
                                      {"MiB", 0x1p20},
                                      {"GiB", 0x1p30},
                                      {"TiB", 0x1p40},
                                      {"KB", 1e3},
                                      {"MB", 1e6},
                                      {"GB", 1e9},
                                      {"TB", 1e12}}};
constexpr double kTooLarge = 0x1p60;

// Reads a plain decimal number off the front of `text`; NaN if there is none.
double take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double value = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + end, value, std::chars_format::fixed);
  if (fault != std::errc{} || rest != text.data() + end) return std::nan("");
  text.remove_prefix(end);
  return value;
}

Error bad(std::string_view text, const char* what) {
  return {Errc::kInvalidArgument, fmt::format("'{}' {}", text, what)};
}

}  // namespace

Result<Bytes> parse_size(std::string_view text) {
  std::string_view rest = text;
  const double number = take_number(rest);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (unit.name != rest || std::isnan(number)) continue;
    const double bytes = number * unit.bytes;
    if (bytes < 1 || bytes >= kTooLarge) return bad(text, "is no sensible size");
    return static_cast<Bytes>(bytes);
  }
  return bad(text, "is no size: write a number and a unit, such as 6GiB or 512MiB");
}

Result<double> parse_scale(std::string_view text) {
  std::string_view rest = text;
  double value = take_number(rest);
  if (!rest.empty() && rest.front() == '/') {
    rest.remove_prefix(1);
    value /= take_number(rest);
  }
  if (!rest.empty() || !(value > 0) || value > 1) {
    return bad(text, "is no scale: write a fraction over 0 and at most 1, such as 1/16 or 0.25");
  }
  return value;
}

std::string format_size(Bytes bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= kGiB) return fmt::format("{:.2f} GiB", value / static_cast<double>(kGiB));
  if (bytes >= kMiB) return fmt::format("{:.1f} MiB", value / static_cast<double>(kMiB));
  if (bytes >= kKiB) return fmt::format("{:.1f} KiB", value / static_cast<double>(kKiB));
  return fmt::format("{} B", bytes);
}

std::string format_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace tidegate::cli
