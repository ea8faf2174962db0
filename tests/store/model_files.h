// Small valid model files, made in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidegate::test {

inline std::string number(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

// One f32 tensor of four bytes for each name.
inline std::string safetensors_of(const std::vector<std::string>& names) {
  std::string header = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    header += (i == 0 ? "\"" : ",\"") + names[i] + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
              std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
  }
  header += "}";
  return number(header.size(), 8) + header + std::string(4 * names.size(), 'x');
}

inline std::string gguf_text(const std::string& text) { return number(text.size(), 8) + text; }
inline std::string gguf_tensor(const std::string& name, std::vector<std::uint64_t> shape, std::uint32_t type,
                               std::uint64_t offset) {
  std::string out = gguf_text(name) + number(shape.size(), 4);
  for (const std::uint64_t extent : shape) out += number(extent, 8);
  return out + number(type, 4) + number(offset, 8);
}
inline std::string gguf_of(std::uint64_t tensors, std::uint64_t metadata, const std::string& entries,
                           std::size_t data_bytes, std::uint32_t version = 3) {
  std::string out = "GGUF" + number(version, 4) + number(tensors, 8) + number(metadata, 8) + entries;
  out.resize((out.size() + 31) / 32 * 32, '\0');
  return out + std::string(data_bytes, 'x');
}

// A text, a nested array, then a q4_0 tensor (2 rows of 2 blocks, 72 bytes) and an f32 one of 4 elements.
inline std::string small_gguf(std::uint32_t version = 3) {
  const std::string nested = number(9, 4) + number(2, 8) + number(8, 4) + number(1, 8) + gguf_text("a") + number(4, 4) +
                             number(2, 8) + number(7, 4) + number(8, 4);
  const std::string metadata =
      gguf_text("name") + number(8, 4) + gguf_text("small") + gguf_text("nested") + number(9, 4) + nested;
  return gguf_of(2, 2, metadata + gguf_tensor("b", {4}, 0, 96) + gguf_tensor("a", {64, 2}, 2, 0), 112, version);
}

}  // namespace tidegate::test
