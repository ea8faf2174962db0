// Sizes, fractions and times as people write and read them.
#pragma once

#include <string>
#include <string_view>

#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::cli {

// "6GiB", "512 MiB", "1.5GB", "4096B": a number and its unit, which must be named. Errors: kInvalidArgument (also below
// 1 byte and from 1 EiB on).
Result<Bytes> parse_size(std::string_view text);

// "1/16", "0.25", "1": over 0 and at most 1. Errors: kInvalidArgument.
Result<double> parse_scale(std::string_view text);

std::string format_size(Bytes bytes);           // "5.09 GiB", "383.0 KiB"
std::string format_seconds(double seconds);     // "1.234 s", "56.7 ms", "890 us"
std::string format_count(std::uint64_t count);  // "20,484"

}  // namespace tidegate::cli
