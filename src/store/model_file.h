// A model on disk, whatever its format: which tensors it has and where their bytes lie. Bytes are read by offset, so a
// file that shrinks meanwhile is an error that names the place, not a signal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/input_file.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::store {

struct StoredTensor {
  std::string name;
  std::string type;  // "bf16"; GGUF's quantised ones as "q4_k": blocks of bytes
  std::vector<std::uint64_t> shape;
  std::size_t file = 0;  // index into ModelFile::files()
  Bytes offset = 0;      // in that file
  Bytes bytes = 0;       // may be 0
  // Index of an earlier tensor with the same bytes (a tied weight), or its own.
  std::size_t same_as = 0;
};

// Move-only; open files and a table. Thread-safe to read.
class ModelFile {
 public:
  const std::string& format() const { return format_; }  // "safetensors", "safetensors, sharded", "GGUF v3"
  const std::vector<base::InputFile>& files() const { return files_; }
  // In the order of files, then of their bytes.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  Bytes bytes() const;  // of all tensors, tied ones once

  // Reads [offset, offset + bytes) of a tensor. Errors: as InputFile::read.
  Result<void> read(const StoredTensor& tensor, Bytes offset, void* to, Bytes bytes) const {
    return files_[tensor.file].read(tensor.offset + offset, to, bytes);
  }

 private:
  friend class ModelBuilder;
  std::string format_;
  std::vector<base::InputFile> files_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// By content, not by name: a file that begins with "GGUF"; one that is JSON with a "weight_map" (an index of
// safetensors shards beside it); else safetensors. Everything in headers is checked, against the files' real sizes,
// before anything is allocated for it. Errors: kNotFound and kIo from the system; kBadFile, one line naming the file
// and the offset or tensor.
Result<ModelFile> open_model(const std::string& path, base::InputFile::Cache cache = base::InputFile::Cache::kPage);

// What the formats' readers fill, inside of the room.
class ModelBuilder {
 public:
  // Takes the file; tensors added from now on lie in it.
  std::size_t add_file(base::InputFile file);
  void add(StoredTensor tensor) { model_.tensors_.push_back(std::move(tensor)); }
  void set_format(std::string format) { model_.format_ = std::move(format); }
  std::map<std::string, std::string>& metadata() { return model_.metadata_; }
  const std::vector<StoredTensor>& tensors() const { return model_.tensors_; }
  // Sorts, checks that names are unique and that ranges are apart or the same, finds tied ones. Errors: kBadFile.
  Result<ModelFile> finish() &&;

 private:
  ModelFile model_;
};

}  // namespace tidegate::store
