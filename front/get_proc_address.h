// cuGetProcAddress: which of the exported functions a name stands for, by CUDA version and default stream.
#pragma once

#include "src/driver/cuda_abi.h"

namespace tidegate::front {

enum ProcAddressResult : int {  // CUdriverProcAddressQueryResult
  kFound = 0,
  kSymbolNotFound = 1,
  kVersionNotSufficient = 2,
};

enum ProcAddressFlags : unsigned long long {  // CUdriverProcAddress_flags
  kLegacyStream = 1,
  kPerThreadStream = 2,
};

enum class Flavour : unsigned char { kAny, kPerThread };  // kPerThread: exported as ..._ptds or ..._ptsz

// One exported function.
struct EntryPoint {
  const char* exported;  // "cuMemAlloc_v2"
  const char* name;      // what programs ask for: "cuMemAlloc"
  int version;           // CUDA version that brought it, 1000 * major + 10 * minor
  Flavour flavour;
  void* address;
};

// The function of the highest version up to `version`, in the flavour that `flags` ask for where there is one.
// Where there is none (measured: driver 580): with `result`, the second form, kSuccess, a null function and the reason
// in *result; without, the first form, kNotFound, and *function stays. Errors: kInvalidValue (a null argument, other
// flags, a version above the driver's).
cu::Status get_proc_address(const char* symbol, void** function, int version, unsigned long long flags,
                            ProcAddressResult* result);

// All exported functions, ordered by name; generated from cuda_entry_points.txt.
extern const EntryPoint kEntryPoints[];
extern const unsigned long kEntryPointCount;
// Functions for names that only this machine's real library knows; each counts under the name that it was given.
extern void* const kSpareFunctions[];
extern const char* spare_names[];
extern const unsigned long kSpareCount;

}  // namespace tidegate::front
