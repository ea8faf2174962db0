// Filling a table of function pointers, for the two loaders.
#pragma once

#include <cstddef>
#include <string>

#include "src/driver/library.h"

namespace tidegate::driver {

// Named so that pasting the list's words REQUIRED and OPTIONAL onto k makes them (windows.h defines OPTIONAL as empty).
enum Need { kREQUIRED, kOPTIONAL };

class SymbolLoader {
 public:
  explicit SymbolLoader(const SymbolResolver& resolve) : resolve_(resolve) {}

  // Sets `slot`, to null where the symbol is missing; a missing required one is noted.
  template <typename FunctionPointer>
  void load(FunctionPointer& slot, const char* symbol, Need need) {
    slot = reinterpret_cast<FunctionPointer>(resolve_(symbol));
    if (slot == nullptr && need == kREQUIRED) note_missing(symbol);
  }

  bool complete() const { return missing_count_ == 0; }

  // "cuMemCreate, cuMemMap, cuMemUnmap and 4 more"
  std::string missing() const {
    return missing_count_ <= kListed ? missing_
                                     : missing_ + " and " + std::to_string(missing_count_ - kListed) + " more";
  }

 private:
  static constexpr std::size_t kListed = 3;

  void note_missing(const char* symbol) {
    if (++missing_count_ > kListed) return;
    if (!missing_.empty()) missing_ += ", ";
    missing_ += symbol;
  }

  const SymbolResolver& resolve_;
  std::string missing_;
  std::size_t missing_count_ = 0;
};

}  // namespace tidegate::driver
