#include "src/store/safetensors.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/store/strict_json.h"
#include "src/store/tensor.h"

namespace tidegate::store {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // MAX_HEADER_SIZE of the safetensors crate
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kMostShards = 4096;
constexpr const char* kMetadataKey = "__metadata__";

Error bad(const std::string& path, const std::string& what) { return {Errc::kBadFile, path + ": " + what}; }

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

Result<std::string> header_of(const base::InputFile& file) {
  const std::string& path = file.path();
  if (file.size() < kLengthBytes) {
    return bad(path, "not a safetensors file: " + std::to_string(file.size()) +
                         " bytes, less than the 8 of a header's length");
  }
  std::array<std::byte, kLengthBytes> prefix{};
  if (auto got = file.read(0, prefix.data(), prefix.size()); !got) return got.error();
  const std::uint64_t length = little_endian(prefix);
  if (length > kLongestHeader) {
    return bad(path, "offset 0: a header of " + std::to_string(length) + " bytes; at most " +
                         std::to_string(kLongestHeader) + " are allowed");
  }
  if (length > file.size() - kLengthBytes) {
    return bad(path, "offset 0: a header of " + std::to_string(length) + " bytes in a file that has " +
                         std::to_string(file.size() - kLengthBytes) + " more: truncated");
  }
  std::string header(length, '\0');
  if (auto got = file.read(kLengthBytes, header.data(), length); !got) return got.error();
  if (header.empty() || header.front() != '{') return bad(path, "offset 8: the header does not begin with '{'");
  return header;
}

// One entry of the header; its offset is relative to the data, of which the file has `data` bytes.
Result<StoredTensor> read_tensor(const std::string& path, const std::string& name, const Json& entry, Bytes data) {
  JsonReader reader(path + ": header");
  const JsonReader::Node node{&entry, "tensor " + printable(name)};
  if (!reader.check_object(node, {"dtype", "shape", "data_offsets"}, {})) return reader.error();

  StoredTensor tensor;
  tensor.name = name;
  const JsonReader::Node type_node = reader.member(node, "dtype");
  const std::string type = reader.text(type_node, 16);
  for (const auto& extent : reader.elements(reader.member(node, "shape"), kMostDimensions)) {
    tensor.shape.push_back(reader.whole(extent, 0, UINT64_MAX));
  }
  const JsonReader::Node offsets_node = reader.member(node, "data_offsets");
  std::vector<std::uint64_t> offsets;
  for (const auto& offset : reader.elements(offsets_node, 2)) offsets.push_back(reader.whole(offset, 0, UINT64_MAX));
  if (reader.failed()) return reader.error();

  const auto dtype = dtype_of_capitals(type);
  if (!dtype) return reader.fail(type_node, "unknown type " + printable(type)), reader.error();
  if (offsets.size() != 2) return reader.fail(offsets_node, "must have two elements"), reader.error();
  if (offsets[0] > offsets[1]) return reader.fail(offsets_node, "ends before it begins"), reader.error();
  if (offsets[1] > data) {
    reader.fail(offsets_node, "ends at " + std::to_string(offsets[1]) + ", the file's data at " + std::to_string(data) +
                                  ": truncated or wrong");
    return reader.error();
  }
  const auto elements = element_count(tensor.shape);
  const auto bytes = elements ? bytes_of(*dtype, *elements) : std::nullopt;
  if (!bytes) {
    reader.fail(node, "its shape has too many elements, or they are no whole number of bytes");
    return reader.error();
  }
  if (*bytes != offsets[1] - offsets[0]) {
    reader.fail(node, "shape and type ask for " + std::to_string(*bytes) + " bytes, data_offsets give " +
                          std::to_string(offsets[1] - offsets[0]));
    return reader.error();
  }
  tensor.type = name_of(*dtype);
  tensor.offset = offsets[0];
  tensor.bytes = *bytes;
  return tensor;
}

Result<std::map<std::string, std::string>> read_metadata(const std::string& path, const Json& entry) {
  if (!entry.is_object()) return bad(path, "header: __metadata__ must be an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) return bad(path, "header: __metadata__." + printable(key) + " must be a string");
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

// The tensors must cover the data exactly, without holes or overlaps.
Result<void> check_cover(const std::string& path, std::vector<StoredTensor>& tensors, Bytes data) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
  });
  Bytes end = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.offset != end) {
      return bad(path,
                 "tensor " + printable(tensor.name) + " begins at " + std::to_string(tensor.offset) + ", " +
                     (tensor.offset < end ? "inside the one before it, which ends at " : "leaving a hole after ") +
                     std::to_string(end));
    }
    end = tensor.offset + tensor.bytes;
  }
  if (end == data) return {};
  return bad(path, "the tensors end at " + std::to_string(end) + ", the file's data at " + std::to_string(data) +
                       ": bytes that belong to no tensor");
}

}  // namespace

Result<void> read_safetensors(const std::string& path, base::InputFile::Cache cache, ModelBuilder& builder) {
  // Headers are no multiples of what direct reads ask for.
  auto file = base::InputFile::open(path);
  if (!file) return file.error();
  const auto header = header_of(file.value());
  if (!header) return header.error();
  const auto parsed = parse_strict_json(header.value(), path + ": header");
  if (!parsed) return parsed.error();
  const Bytes begin = kLengthBytes + header.value().size();
  const Bytes data = file->size() - begin;

  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : parsed.value().items()) {
    if (name == kMetadataKey) {
      auto metadata = read_metadata(path, entry);
      if (!metadata) return metadata.error();
      builder.metadata().merge(metadata.value());
      continue;
    }
    auto tensor = read_tensor(path, name, entry, data);
    if (!tensor) return tensor.error();
    tensors.push_back(std::move(tensor).value());
  }
  if (auto covered = check_cover(path, tensors, data); !covered) return covered;
  if (cache == base::InputFile::Cache::kDirect) {
    auto direct = base::InputFile::open(path, cache);
    if (!direct) return direct.error();
    file = std::move(direct);
  }
  const std::size_t index = builder.add_file(std::move(file).value());
  for (StoredTensor& tensor : tensors) {
    tensor.file = index;
    tensor.offset += begin;
    builder.add(std::move(tensor));
  }
  return {};
}

bool looks_like_index(const base::InputFile& file) {
  std::array<char, kLengthBytes> prefix{};
  const std::size_t length = std::min<Bytes>(file.size(), prefix.size());
  if (length < 2 || !file.read(0, prefix.data(), length) || prefix[0] != '{') return false;
  // A header's length may begin with any byte, but its upper bytes are zero, which no text has.
  return std::find(prefix.begin(), prefix.begin() + static_cast<std::ptrdiff_t>(length), '\0') ==
         prefix.begin() + static_cast<std::ptrdiff_t>(length);
}

Result<void> read_index(const std::string& path, base::InputFile::Cache cache, ModelBuilder& builder) {
  auto file = base::InputFile::open(path);
  if (!file) return file.error();
  if (file->size() > kLongestHeader)
    return bad(path, "an index of " + std::to_string(file->size()) + " bytes is too long");
  std::string text(file->size(), '\0');
  if (auto got = file->read(0, text.data(), text.size()); !got) return got;
  const auto parsed = parse_strict_json(text, path);
  if (!parsed) return parsed.error();
  const auto map = parsed.value().find("weight_map");
  if (map == parsed.value().end() || !map->is_object() || map->empty()) {
    return bad(path, "$.weight_map: an index of safetensors shards has a table of tensors there");
  }
  std::map<std::string, std::string> shard_of;  // by tensor
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : std::string();
    // Shards lie beside the index: an index from a stranger names no other file.
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\") != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return bad(path, "$.weight_map." + printable(tensor) + ": must be the name of a file beside the index");
    }
    shard_of[tensor] = name;
    shards.insert(name);
  }
  if (shards.size() > kMostShards) return bad(path, std::to_string(shards.size()) + " shards are too many");
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  std::size_t seen = 0;
  std::set<std::string> found;
  for (const std::string& shard : shards) {
    if (auto read = read_safetensors(folder + shard, cache, builder); !read) return read;
    for (; seen < builder.tensors().size(); ++seen) {
      const std::string& name = builder.tensors()[seen].name;
      const auto said = shard_of.find(name);
      if (said == shard_of.end()) return bad(folder + shard, "tensor " + printable(name) + " is not in the index");
      if (said->second != shard) {
        return bad(folder + shard, "tensor " + printable(name) + " is here, the index says " + printable(said->second));
      }
      found.insert(name);
    }
  }
  for (const auto& [tensor, shard] : shard_of) {
    if (!found.contains(tensor)) {
      return bad(folder + shard, "tensor " + printable(tensor) + " is in the index, but not here");
    }
  }
  builder.set_format("safetensors, " + std::to_string(shards.size()) + " shards");
  return {};
}

}  // namespace tidegate::store
