// A program that is spoken to through its standard input and output: lines in, lines out.
// piped_program_posix.cpp and piped_program_windows.cpp, which refuses (kNotFound): nothing there needs it yet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/executor.h"
#include "tidegate/result.h"

namespace tidegate::base {

// One thread at a time. Destroying it closes the program's input, which asks it to end, and waits for it; one that has
// not ended after `patience` is killed.
class PipedProgram {
 public:
  // words[0] is looked for in PATH; stderr is this process's own. Errors: kNotFound, kIo.
  static Result<std::unique_ptr<PipedProgram>> start(const std::vector<std::string>& words);
  virtual ~PipedProgram() = default;
  PipedProgram() = default;
  PipedProgram(const PipedProgram&) = delete;
  PipedProgram& operator=(const PipedProgram&) = delete;

  virtual int pid() const = 0;
  // False: it does not listen any more.
  virtual bool write_line(const std::string& line) = 0;
  // Without its end. Errors: kTimeout, kClosed (the program has closed its output, or ended).
  virtual Result<std::string> read_line(Nanos patience) = 0;
  // Everything up to its end. Errors: kTimeout.
  virtual Result<std::string> read_all(Nanos patience) = 0;
  // Its exit code, or 128 and the signal that ended it; it is killed if it has not ended by then.
  virtual int finish(Nanos patience) = 0;
};

// Runs a program to its end and answers what it wrote to its standard output. Errors: kNotFound, kIo (cannot be
// started; ended with another status than 0), kTimeout (it was killed).
Result<std::string> output_of(const std::vector<std::string>& words, Nanos deadline);

// The file of this program, for starting it anew; empty: the system does not tell.
std::string this_program();

}  // namespace tidegate::base
