// Safetensors files, read through a mapping. The format: 8 bytes, the header's length N, little-endian; N bytes of
// JSON,
// {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [begin, end]}, "__metadata__": {text: text}}; the
// tensors' bytes, to which the offsets are relative. https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/base/mapped_file.h"
#include "src/store/tensor.h"
#include "tidegate/result.h"

namespace tidegate::store {

struct SafetensorsTensor {
  std::string name;
  Dtype dtype{};
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;  // in the mapping; may be empty
};

// Read-only; the tensors' bytes live as long as the file object. Move-only.
class SafetensorsFile {
 public:
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }  // in the order of their bytes
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::span<const std::byte> mapping() const { return file_.bytes(); }

 private:
  friend Result<SafetensorsFile> open_safetensors(const std::string& path);
  base::MappedFile file_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Everything is checked before it is used: the header's length (at most 100 MB, as the format's own implementation has
// it), JSON, names, types, sizes; the tensors must cover the rest of the file exactly, without holes or overlaps.
// Errors: kNotFound and kIo from the system; kBadFile, one line naming the file and the offset or tensor.
Result<SafetensorsFile> open_safetensors(const std::string& path);

}  // namespace tidegate::store
