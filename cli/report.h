// A run's record as JSON for programs and as a table for people.
#pragma once

#include <string>

#include "cli/record.h"

namespace tidegate::cli {

// Stable key order and number formats. Of a simulated run it depends on the input and the options alone: no wall time,
// path or date.
std::string report_json(const RunRecord& record);

// Several lines. Each figure is said to be measured, modelled, computed or counted.
std::string report_table(const RunRecord& record);

}  // namespace tidegate::cli
