// What the real driver's library on this machine exports, read from its file; it is never loaded. Linux; elsewhere
// none.
#pragma once

#include <string>
#include <vector>

namespace tidegate::front {

// Names beginning with "cu", ordered; empty where there is no such library. TIDEGATE_REAL_CUDA names its file; else
// the folders where distributions keep it are looked through.
std::vector<std::string> real_cuda_symbols();

}  // namespace tidegate::front
