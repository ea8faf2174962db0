// What the real driver's library on this machine exports, read from its file; it is never loaded.
#pragma once

#include <string>
#include <vector>

namespace tidegate::front {

// Names beginning with "cu", ordered; empty where there is no such library. TIDEGATE_REAL_CUDA names its file; else
// the folders where distributions keep it are looked through.
std::vector<std::string> real_cuda_symbols();

// The dynamic symbols that an ELF file defines and that begin with `prefix`; empty for anything but a sound 64-bit
// file.
std::vector<std::string> elf_symbols(const std::string& path, const std::string& prefix);

}  // namespace tidegate::front
