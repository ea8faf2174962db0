// SIGINT and SIGTERM as a flag that loops look at. A second signal ends the process at once.
#pragma once

namespace tidegate::cli {

void catch_interrupts();
// The signal that came, or 0.
int interrupted();
const char* signal_name(int signal);

}  // namespace tidegate::cli
