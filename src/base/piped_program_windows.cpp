#include "src/base/piped_program.h"

namespace tidegate::base {

namespace {
Error refused(const std::vector<std::string>& words) {
  return Error{Errc::kNotFound, words[0] + ": speaking to other programs is not supported on Windows"};
}
}  // namespace

Result<std::unique_ptr<PipedProgram>> PipedProgram::start(const std::vector<std::string>& words) {
  return refused(words);
}
Result<std::string> output_of(const std::vector<std::string>& words, Nanos) { return refused(words); }
std::string this_program() { return {}; }

}  // namespace tidegate::base
