// Safetensors files and indexes of sharded ones. The format: 8 bytes, the header's length N, little-endian; N bytes of
// JSON,
// {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [begin, end]}, "__metadata__": {text: text}}; the
// tensors' bytes, to which the offsets are relative. https://github.com/huggingface/safetensors
// An index is JSON, {"weight_map": {tensor: file}, ...}; the files lie beside it.
#pragma once

#include <string>

#include "src/store/model_file.h"

namespace tidegate::store {

// Everything is checked before it is used: the header's length (at most 100 MB, as the format's own implementation has
// it), JSON, names, types, sizes; the tensors must cover the rest of the file exactly, without holes or overlaps.
// Errors: kNotFound and kIo from the system; kBadFile, one line naming the file and the offset or tensor.
Result<void> read_safetensors(const std::string& path, base::InputFile::Cache cache, ModelBuilder& builder);

// Whether the file begins as a JSON text does, and a safetensors file cannot.
bool looks_like_index(const base::InputFile& file);

// The same checks for each shard; and the index and the shards must say the same of every tensor.
Result<void> read_index(const std::string& path, base::InputFile::Cache cache, ModelBuilder& builder);

}  // namespace tidegate::store
