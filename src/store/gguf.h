// GGUF files, versions 2 and 3, little-endian: "GGUF", version, number of tensors and of metadata entries; the entries;
// the tensors' descriptions; the data, aligned. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <string>

#include "src/store/model_file.h"

namespace tidegate::store {

// Counts and lengths are checked against the file's size before they are believed; texts must be UTF-8. Of the metadata
// the short texts and numbers are kept, arrays are walked over. Quantised tensors are bytes: their size follows from
// the type's block. Errors: kNotFound and kIo from the system; kBadFile, one line naming the file and the offset.
Result<void> read_gguf(const std::string& path, base::InputFile::Cache cache, ModelBuilder& builder);

}  // namespace tidegate::store
