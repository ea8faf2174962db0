// One line on stderr that says what is going on: rewritten on a terminal, printed now and then elsewhere.
#pragma once

#include <string>

#include "src/base/thread_executor.h"

namespace tidegate::cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // True when it is time for another line: ask first, format then. Cheap.
  bool due();
  void show(const std::string& line);
  // A line that stays, whatever the time.
  void note(const std::string& line);
  // Takes the rewritten line off the terminal.
  void clear();

 private:
  base::ThreadExecutor wall_;  // only its clock is used: wall time, also where the card's time is virtual
  const bool quiet_;
  const bool terminal_;
  base::Nanos next_ = 0;
  unsigned asked_ = 0;
  bool line_open_ = false;
};

}  // namespace tidegate::cli
