#include <cstdio>

#include "cli/sim_exec.h"

namespace tidegate::cli {

int sim_exec_command(const SimExecArguments&) {
  std::fprintf(stderr, "tidegate: sim exec runs on Linux only\n");
  return 2;
}

}  // namespace tidegate::cli
