// Choices for a simulated machine.
#pragma once

#include <functional>
#include <string>

#include "tidegate/bytes.h"

namespace tidegate::sim {

// MachineOptions::tags_from where content tags are asked for without saying more: below, bytes cost nothing.
inline constexpr Bytes kTaggedCopies = 4 * kKiB;

struct MachineOptions {
  // RACE, UNWRITTEN and exposures. Off, for big benchmarks: hits of H-4 and faults are still found, contents still
  // kept.
  bool detect = true;
  // Keep a log of every call and every operation as text; Machine::trace(). Grows without bound.
  bool trace = false;
  // Told each of Machine::messages() as it arises, with the world's lock held: it must not call the machine.
  std::function<void(const std::string& line)> on_message{};
  // What one process may page-lock; 0: no limit.
  Bytes pinned_limit = 0;
  // Copies of at least so many bytes from host memory to a card bring a content tag that names their place in it, and
  // the memory is never read: worlds of any size cost nothing. What is copied back of it is zeros. 0: bytes are bytes.
  Bytes tags_from = 0;
};

}  // namespace tidegate::sim
