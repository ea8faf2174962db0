#include <cstdio>
#include <iostream>
#include <sstream>

#include "cli/device_buffer.h"
#include "cli/probe.h"

namespace tidegate::cli {
namespace {

std::string outcome(const Result<void>& result) { return result ? "ok" : "refused " + result.error().message; }

class Helper {
 public:
  explicit Helper(int ordinal) : ordinal_(ordinal) {}

  std::string carry_out(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    Bytes bytes = 0;
    words >> what >> bytes;
    if (what == "open") {
      auto opened = card_.load(ordinal_);
      return outcome(opened ? card_.enter() : opened);
    }
    if (what == "alloc") return outcome(card_.take(bytes, Way::kAlloc));
    if (what == "vmm") return outcome(card_.take(bytes, Way::kVmm));
    if (what == "touch") return outcome(card_.touch());
    if (what == "give") return card_.give(), "ok";
    if (what == "pin") {
      pinned_.push_back(std::make_unique<PinnedBuffer>(card_.driver()));
      return outcome(pinned_.back()->allocate(bytes));
    }
    if (what == "free") {
      const auto free = card_.free_bytes();
      return free ? std::to_string(free.value()) : "refused " + free.error().message;
    }
    return "refused: unknown: " + what;
  }

 private:
  const int ordinal_;
  RawCard card_;
  std::vector<std::unique_ptr<PinnedBuffer>> pinned_;  // goes before the card
};

}  // namespace

int serve_probe(int ordinal) {
  Helper helper(ordinal);
  for (std::string line; std::getline(std::cin, line);) {
    std::printf("%s\n", helper.carry_out(line).c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace tidegate::cli
