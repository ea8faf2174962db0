#include "src/store/model_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <tuple>

#include "src/store/gguf.h"
#include "src/store/safetensors.h"
#include "src/store/strict_json.h"

namespace tidegate::store {

Bytes ModelFile::bytes() const {
  Bytes sum = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) sum += tensors_[i].same_as == i ? tensors_[i].bytes : 0;
  return sum;
}

std::size_t ModelBuilder::add_file(base::InputFile file) {
  model_.files_.push_back(std::move(file));
  return model_.files_.size() - 1;
}

Result<ModelFile> ModelBuilder::finish() && {
  std::vector<StoredTensor>& tensors = model_.tensors_;
  std::stable_sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::tie(a.file, a.offset, a.bytes) < std::tie(b.file, b.offset, b.bytes);
  });
  std::set<std::string_view> names;
  std::size_t before = 0;  // the last one with bytes
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    StoredTensor& tensor = tensors[i];
    const std::string& path = model_.files_[tensor.file].path();
    if (!names.insert(tensor.name).second) {
      return Error{Errc::kBadFile, path + ": tensor " + printable(tensor.name) + " is given twice"};
    }
    tensor.same_as = i;
    if (tensor.bytes == 0) continue;
    const StoredTensor& last = tensors[before];
    const bool beside = last.file == tensor.file && last.bytes > 0 && before != i;
    if (beside && last.offset == tensor.offset && last.bytes == tensor.bytes) {
      tensor.same_as = last.same_as;
    } else if (beside && tensor.offset < last.offset + last.bytes) {
      return Error{Errc::kBadFile, path + ": offset " + std::to_string(tensor.offset) + ": tensor " +
                                       printable(tensor.name) + " begins inside tensor " + printable(last.name) +
                                       ", which ends at " + std::to_string(last.offset + last.bytes)};
    }
    before = i;
  }
  return std::move(model_);
}

Result<ModelFile> open_model(const std::string& path, base::InputFile::Cache cache) {
  auto file = base::InputFile::open(path);
  if (!file) return file.error();
  std::array<char, 4> magic{};
  if (auto got = file->read(0, magic.data(), std::min<Bytes>(file->size(), magic.size())); !got) return got.error();
  ModelBuilder builder;
  Result<void> read;
  if (std::memcmp(magic.data(), "GGUF", 4) == 0) {
    read = read_gguf(path, cache, builder);
  } else if (looks_like_index(file.value())) {
    read = read_index(path, cache, builder);
  } else {
    builder.set_format("safetensors");
    read = read_safetensors(path, cache, builder);
  }
  if (!read) return read.error();
  return std::move(builder).finish();
}

}  // namespace tidegate::store
