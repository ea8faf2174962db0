// What an ELF library exports, by its dynamic symbol table.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <elf.h>

namespace tidegate::test {

class ElfFile {
 public:
  struct Symbol {
    std::string name;
    std::uint64_t address;
    std::uint64_t size;
  };

  explicit ElfFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    data_.assign(std::istreambuf_iterator<char>(file), {});
  }
  bool ok() const { return data_.size() > sizeof(Elf64_Ehdr) && data_.compare(0, 4, ELFMAG) == 0; }

  // Defined, visible functions.
  std::vector<Symbol> functions() const {
    std::vector<Symbol> found;
    for (const Elf64_Shdr& section : sections(SHT_DYNSYM)) {
      const char* const names = data_.data() + all_sections()[section.sh_link].sh_offset;
      for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = read<Elf64_Sym>(section.sh_offset + at);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name == 0) continue;
        found.push_back({names + symbol.st_name, symbol.st_value, symbol.st_size});
      }
    }
    return found;
  }
  std::string soname() const {
    for (const Elf64_Shdr& section : sections(SHT_DYNAMIC)) {
      const char* const names = data_.data() + all_sections()[section.sh_link].sh_offset;
      for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Dyn)) {
        const auto entry = read<Elf64_Dyn>(section.sh_offset + at);
        if (entry.d_tag == DT_SONAME) return names + entry.d_un.d_val;
      }
    }
    return {};
  }

 private:
  template <typename T>
  T read(std::size_t offset) const {
    T value;
    std::memcpy(&value, data_.data() + offset, sizeof value);
    return value;
  }
  std::vector<Elf64_Shdr> all_sections() const {
    const auto head = read<Elf64_Ehdr>(0);
    std::vector<Elf64_Shdr> all;
    for (std::size_t i = 0; i < head.e_shnum; ++i)
      all.push_back(read<Elf64_Shdr>(head.e_shoff + i * sizeof(Elf64_Shdr)));
    return all;
  }
  std::vector<Elf64_Shdr> sections(std::uint32_t type) const {
    std::vector<Elf64_Shdr> found;
    for (const Elf64_Shdr& section : all_sections()) {
      if (section.sh_type == type) found.push_back(section);
    }
    return found;
  }

  std::string data_;
};

// The first word of each line that is no comment.
inline std::set<std::string> first_words(const std::string& path) {
  std::set<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string word;
    if (std::istringstream(line) >> word && word[0] != '#') words.insert(word);
  }
  return words;
}

}  // namespace tidegate::test
