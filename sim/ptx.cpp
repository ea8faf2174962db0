#include "sim/ptx.h"

#include <cctype>
#include <cstring>
#include <string_view>

namespace tidegate::sim {

namespace {

constexpr BuiltinKernel kBuiltin[] = {
    {"tidegate_checksum", KernelId::kChecksum, 3},  // address, bytes, address of the sum
    {"tidegate_work", KernelId::kWork, 3},          // address, bytes, nanoseconds
};

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; }

// The text with comments blanked out.
std::string without_comments(std::string_view text) {
  std::string bare(text);
  for (std::size_t i = 0; i + 1 < bare.size(); ++i) {
    if (bare[i] != '/' || (bare[i + 1] != '/' && bare[i + 1] != '*')) continue;
    const bool line = bare[i + 1] == '/';
    std::size_t end = bare.find(line ? "\n" : "*/", i + 2);
    end = end == std::string::npos ? bare.size() : end + (line ? 0 : 2);
    for (; i < end; ++i) bare[i] = ' ';
  }
  return bare;
}

}  // namespace

const BuiltinKernel* find_builtin(const std::string& name) {
  for (const BuiltinKernel& kernel : kBuiltin) {
    if (name == kernel.name) return &kernel;
  }
  return nullptr;
}

const BuiltinKernel& builtin(KernelId id) {
  for (const BuiltinKernel& kernel : kBuiltin) {
    if (kernel.id == id) return kernel;
  }
  return kBuiltin[0];
}

cu::Status read_module(const void* image, std::vector<const BuiltinKernel*>& entries, std::string& why) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  // Four bytes at most, one at a time: a text may be shorter.
  constexpr unsigned char kElf[] = {0x7F, 'E', 'L', 'F'};
  constexpr unsigned char kFatbin[] = {0x50, 0xED, 0x55, 0xBA};
  constexpr unsigned char kFatbinWrapper[] = {0xB1, 0x43, 0x62, 0x46};
  const auto starts_with = [&](const unsigned char(&magic)[4]) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (bytes[i] != magic[i]) return false;
    }
    return true;
  };
  if (starts_with(kElf) || starts_with(kFatbin) || starts_with(kFatbinWrapper)) {
    why =
        "the module is machine code of a real card; the simulated one runs its built-in kernels only "
        "(NO_BINARY_FOR_GPU)";
    return cu::kNoBinaryForGpu;
  }
  if (bytes[0] != 0 && bytes[0] < 0x80 && (bytes[0] >= 0x20 || is_space(static_cast<char>(bytes[0])))) {
    const std::string text = without_comments(static_cast<const char*>(image));
    if (text.find(".version") != std::string::npos && text.find(".target") == std::string::npos) {
      why = "the module is PTX without a .target";
      return cu::kInvalidPtx;
    }
    if (text.find(".version") == std::string::npos) {
      why = "the module is text, but no PTX: it has no .version";
      return cu::kInvalidImage;
    }
    constexpr std::string_view kEntry = ".entry";
    for (std::size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at + 1)) {
      std::size_t begin = at + kEntry.size();
      while (begin < text.size() && is_space(text[begin])) ++begin;
      std::size_t end = begin;
      while (end < text.size() && is_name(text[end])) ++end;
      const std::string name = text.substr(begin, end - begin);
      const BuiltinKernel* kernel = find_builtin(name);
      if (kernel == nullptr) {
        why = "the module's entry " + name + " is not a built-in kernel of the simulated card (NO_BINARY_FOR_GPU)";
        entries.clear();
        return cu::kNoBinaryForGpu;
      }
      entries.push_back(kernel);
    }
    return cu::kSuccess;
  }
  why = "the module is neither PTX nor machine code";
  return cu::kInvalidImage;
}

}  // namespace tidegate::sim
