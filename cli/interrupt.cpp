#include "cli/interrupt.h"

#include <csignal>

namespace tidegate::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void on_signal(int signal) {
  caught = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

int interrupted() { return caught; }

const char* signal_name(int signal) { return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "a signal"; }

}  // namespace tidegate::cli
