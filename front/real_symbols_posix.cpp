#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include <elf.h>

#include "front/real_symbols.h"
#include "src/base/mapped_file.h"

namespace tidegate::front {
namespace {

// `count` structures at `offset`, or nothing where the file does not hold them.
template <typename T>
std::vector<T> read(std::span<const std::byte> file, std::size_t offset, std::size_t count) {
  std::vector<T> out;
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return out;
  out.resize(count);
  if (count > 0) std::memcpy(out.data(), file.data() + offset, count * sizeof(T));
  return out;
}

std::string text_at(std::span<const std::byte> file, const Elf64_Shdr& strings, std::size_t at) {
  if (strings.sh_offset > file.size() || strings.sh_size > file.size() - strings.sh_offset || at >= strings.sh_size)
    return {};
  const char* begin = reinterpret_cast<const char*>(file.data()) + strings.sh_offset + at;  // NOLINT: bytes of a file
  return {begin, strnlen(begin, strings.sh_size - at)};
}

// The dynamic symbols that an ELF file defines and that begin with `prefix`; empty for anything but a sound 64-bit
// file.
std::vector<std::string> elf_symbols(const std::string& path, const std::string& prefix) {
  const auto mapped = base::MappedFile::open(path);
  if (!mapped) return {};
  const std::span<const std::byte> file = mapped->bytes();
  const auto head = read<Elf64_Ehdr>(file, 0, 1);
  if (head.empty() || std::memcmp(head[0].e_ident, ELFMAG, SELFMAG) != 0 || head[0].e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  std::vector<std::string> names;
  const auto sections = read<Elf64_Shdr>(file, head[0].e_shoff, head[0].e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    for (const Elf64_Sym& symbol : read<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_shndx == SHN_UNDEF) continue;
      std::string name = text_at(file, sections[section.sh_link], symbol.st_name);
      if (name.starts_with(prefix)) names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::vector<std::string> real_cuda_symbols() {
  std::vector<std::string> places;
  if (const char* named = std::getenv("TIDEGATE_REAL_CUDA"); named != nullptr && *named != '\0') {
    places.emplace_back(named);
  } else {
    for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/nvidia/lib64"}) {
      places.push_back(std::string(folder) + "/libcuda.so.1");
    }
  }
  for (const std::string& place : places) {
    std::vector<std::string> names = elf_symbols(place, "cu");
    if (!names.empty()) return names;
  }
  return {};
}

}  // namespace tidegate::front
