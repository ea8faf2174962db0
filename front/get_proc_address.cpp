#include "front/get_proc_address.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "front/front.h"
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

// At start: the names of a library that changes later are not those of this run.
__attribute__((constructor)) void read_names() { (void)beyond(); }

}  // namespace

cu::Status get_proc_address(const char* symbol, void** function, int version, unsigned long long flags,
                            ProcAddressResult* result) {
  int driver_version = 0;
  (void)driver().driver_get_version(&driver_version);
  const bool too_new = driver_version > 0 && version > driver_version;  // 0: there is no card, which cuInit will say
  if (symbol == nullptr || function == nullptr || flags > (kLegacyStream | kPerThreadStream) || too_new) {
    return cu::kInvalidValue;
  }
  // A function that has a per-thread flavour is that one where it is asked for, whatever the version says of the
  // others.
  Flavour flavour = Flavour::kAny;
  bool known = false;
  for (unsigned long i = 0; i < kEntryPointCount; ++i) {
    if (std::strcmp(kEntryPoints[i].name, symbol) != 0) continue;
    known = true;
    if ((flags & kPerThreadStream) != 0) flavour = std::max(flavour, kEntryPoints[i].flavour);
  }
  const EntryPoint* best = nullptr;
  for (unsigned long i = 0; i < kEntryPointCount && known; ++i) {
    const EntryPoint& entry = kEntryPoints[i];
    if (std::strcmp(entry.name, symbol) != 0 || entry.flavour != flavour || entry.version > version) continue;
    if (best == nullptr || entry.version > best->version) best = &entry;
  }
  void* found = best == nullptr ? nullptr : best->address;
  if (!known) {
    const auto spare = beyond().find(symbol);
    if (spare != beyond().end()) found = spare->second;
  }
  if (result != nullptr) {
    *function = found;
    *result = found != nullptr ? kFound : known ? kVersionNotSufficient : kSymbolNotFound;
    return cu::kSuccess;
  }
  if (found == nullptr) return cu::kNotFound;
  *function = found;
  return cu::kSuccess;
}

}  // namespace tidegate::front
