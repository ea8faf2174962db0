#include "src/store/safetensors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/store/strict_json.h"

namespace tidegate::store {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // MAX_HEADER_SIZE of the safetensors crate
constexpr std::size_t kMostDimensions = 64;
constexpr const char* kMetadataKey = "__metadata__";

Error bad(const std::string& path, const std::string& what) { return {Errc::kBadFile, path + ": " + what}; }

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

Result<std::string_view> header_of(std::span<const std::byte> file, const std::string& path) {
  if (file.size() < kLengthBytes) {
    return bad(path, "not a safetensors file: " + std::to_string(file.size()) +
                         " bytes, less than the 8 of a header's length");
  }
  const std::uint64_t length = little_endian(file);
  if (length > kLongestHeader) {
    return bad(path, "offset 0: a header of " + std::to_string(length) + " bytes; at most " +
                         std::to_string(kLongestHeader) + " are allowed");
  }
  if (length > file.size() - kLengthBytes) {
    return bad(path, "offset 0: a header of " + std::to_string(length) + " bytes in a file that has " +
                         std::to_string(file.size() - kLengthBytes) + " more: truncated");
  }
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (header.empty() || header.front() != '{') return bad(path, "offset 8: the header does not begin with '{'");
  return header;
}

// One entry of the header. `begin` receives where its bytes begin, for the check of their order.
Result<SafetensorsTensor> read_tensor(const std::string& path, const std::string& name, const Json& entry,
                                      std::span<const std::byte> data, std::uint64_t& begin) {
  JsonReader reader(path + ": header");
  const JsonReader::Node node{&entry, "tensor " + printable(name)};
  if (!reader.check_object(node, {"dtype", "shape", "data_offsets"}, {})) return reader.error();

  SafetensorsTensor tensor;
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
  if (offsets[1] > data.size()) {
    reader.fail(offsets_node, "ends at " + std::to_string(offsets[1]) + ", the file's data at " +
                                  std::to_string(data.size()) + ": truncated or wrong");
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
  tensor.dtype = *dtype;
  tensor.bytes = data.subspan(offsets[0], *bytes);
  begin = offsets[0];
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

}  // namespace

Result<SafetensorsFile> open_safetensors(const std::string& path) {
  Result<base::MappedFile> mapped = base::MappedFile::open(path);
  if (!mapped) return mapped.error();
  SafetensorsFile file;
  file.file_ = std::move(mapped).value();
  const auto header = header_of(file.mapping(), path);
  if (!header) return header.error();
  const auto parsed = parse_strict_json(header.value(), path + ": header");
  if (!parsed) return parsed.error();
  const auto data = file.mapping().subspan(kLengthBytes + header.value().size());

  std::vector<std::pair<std::uint64_t, SafetensorsTensor>> placed;
  for (const auto& [name, entry] : parsed.value().items()) {
    if (name == kMetadataKey) {
      auto metadata = read_metadata(path, entry);
      if (!metadata) return metadata.error();
      file.metadata_ = std::move(metadata).value();
      continue;
    }
    std::uint64_t begin = 0;
    auto tensor = read_tensor(path, name, entry, data, begin);
    if (!tensor) return tensor.error();
    placed.emplace_back(begin, std::move(tensor).value());
  }

  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.bytes.size(), std::string_view(a.second.name)) <
           std::tuple(b.first, b.second.bytes.size(), std::string_view(b.second.name));
  });
  std::uint64_t end = 0;
  for (auto& [begin, tensor] : placed) {
    if (begin != end) {
      return bad(path, "tensor " + printable(tensor.name) + " begins at " + std::to_string(begin) + ", " +
                           (begin < end ? "inside the one before it, which ends at " : "leaving a hole after ") +
                           std::to_string(end));
    }
    end = begin + tensor.bytes.size();
    file.tensors_.push_back(std::move(tensor));
  }
  if (end != data.size()) {
    return bad(path, "the tensors end at " + std::to_string(end) + ", the file's data at " +
                         std::to_string(data.size()) + ": bytes that belong to no tensor");
  }
  return file;
}

}  // namespace tidegate::store
