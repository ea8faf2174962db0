// What the simulated card can run: the kernels it has built in, found by their names in a module's PTX.
#pragma once

#include <string>
#include <vector>

#include "sim/op.h"

namespace tidegate::sim {

struct BuiltinKernel {
  const char* name;
  KernelId id;
  std::size_t parameters;  // all 64 bits wide
};

const BuiltinKernel* find_builtin(const std::string& name);
const BuiltinKernel& builtin(KernelId id);

// The entries of a module image. kInvalidImage: neither PTX nor machine code; kNoBinaryForGpu: machine code of a real
// card, or an entry that is not built in; kInvalidPtx: PTX without a target. `why` is one line then.
cu::Status read_module(const void* image, std::vector<const BuiltinKernel*>& entries, std::string& why);

}  // namespace tidegate::sim
