// One process of golden_processes.
#pragma once

#include <cstdio>
#include <string>

namespace tidegate::golden {

// Carries out the steps that come in, one a line, and answers each by a line: empty, or what is to be printed. Answers
// when `in` ends, with the process's status.
int serve(const std::string& name, std::FILE* in, std::FILE* out);

}  // namespace tidegate::golden
