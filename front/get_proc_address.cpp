#include "front/get_proc_address.h"

#include <cstring>
#include <map>
#include <string>

#include "front/real_symbols.h"

namespace tidegate::front {
namespace {

// What the real library exports beyond our list: unknown entry points like others.
const std::map<std::string, void*>& beyond() {
  static const auto* const found = [] {
    auto* spare = new std::map<std::string, void*>;
    static std::vector<std::string> names = real_cuda_symbols();
    for (const std::string& name : names) {
      bool ours = false;
      for (unsigned long i = 0; i < kEntryPointCount && !ours; ++i) ours = name == kEntryPoints[i].exported;
      if (ours || spare->size() == kSpareCount) continue;
      spare_names[spare->size()] = name.c_str();
      void* const function = kSpareFunctions[spare->size()];
      (*spare)[name] = function;
    }
    return spare;
  }();
  return *found;
}

}  // namespace

cu::Status get_proc_address(const char* symbol, void** function, int version, unsigned long long flags,
                            ProcAddressResult* result) {
  if (symbol == nullptr || function == nullptr || flags > (kLegacyStream | kPerThreadStream)) return cu::kInvalidValue;
  *function = nullptr;
  bool known = false;
  const EntryPoint* best = nullptr;
  const bool per_thread = (flags & kPerThreadStream) != 0;
  for (unsigned long i = 0; i < kEntryPointCount; ++i) {
    const EntryPoint& entry = kEntryPoints[i];
    if (std::strcmp(entry.name, symbol) != 0) continue;
    known = true;
    if (entry.version > version || (entry.flavour == Flavour::kPerThread && !per_thread)) continue;
    // The flavour decides before the version.
    const bool better = best == nullptr || entry.flavour > best->flavour ||
                        (entry.flavour == best->flavour && entry.version > best->version);
    if (better) best = &entry;
  }
  if (best != nullptr) {
    *function = best->address;
  } else if (!known) {
    const auto spare = beyond().find(symbol);
    if (spare != beyond().end()) *function = spare->second;
  }
  if (result != nullptr) {
    *result = *function != nullptr ? kFound : known ? kVersionNotSufficient : kSymbolNotFound;
  }
  return *function != nullptr ? cu::kSuccess : cu::kNotFound;
}

}  // namespace tidegate::front
