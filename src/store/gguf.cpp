#include "src/store/gguf.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "src/store/strict_json.h"
#include "src/store/tensor.h"

namespace tidegate::store {
namespace {

constexpr std::size_t kMostDimensions = 4;  // GGML_MAX_DIMS
constexpr int kDeepestArray = 4;
constexpr Bytes kLongestName = 1024;
constexpr Bytes kLongestText = 64 * 1024;  // kept as metadata; longer ones are walked over
constexpr Bytes kDefaultAlignment = 32;
constexpr Bytes kLeastTensorInfo = 8 + 4 + 4 + 8;  // name's length, dimensions, type, offset
constexpr Bytes kLeastEntry = 8 + 4 + 1;           // key's length, type, a byte

struct BlockType {
  std::uint32_t number;
  const char* name;
  unsigned elements;  // of a block
  unsigned bytes;
};

// enum ggml_type and the sizes of its blocks (ggml.h, ggml-common.h): facts of the format.
constexpr BlockType kTypes[] = {
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},      {3, "q4_1", 32, 20},
    {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},      {8, "q8_0", 32, 34},      {9, "q8_1", 32, 36},
    {10, "q2_k", 256, 84},    {11, "q3_k", 256, 110},   {12, "q4_k", 256, 144},   {13, "q5_k", 256, 176},
    {14, "q6_k", 256, 210},   {15, "q8_k", 256, 292},   {16, "iq2_xxs", 256, 66}, {17, "iq2_xs", 256, 74},
    {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},   {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},
    {22, "iq2_s", 256, 82},   {23, "iq4_xs", 256, 136}, {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},        {28, "f64", 1, 8},        {29, "iq1_m", 256, 56},
    {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},   {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},
};

enum ValueType : std::uint32_t { kBool = 7, kString = 8, kArray = 9, kMostValueType = 12 };
constexpr Bytes kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // by type; 0: not fixed

// Reads the head of the file in order, a piece at a time. After a fault everything reads as zero.
class Head {
 public:
  explicit Head(const base::InputFile& file) : file_(file) {}

  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  Bytes at() const { return at_; }
  Bytes left() const { return file_.size() - at_; }
  void fail(Bytes offset, const std::string& what) {
    if (!error_) error_ = Error{Errc::kBadFile, file_.path() + ": offset " + std::to_string(offset) + ": " + what};
  }

  void bytes(void* to, Bytes count) {
    if (failed()) return;
    if (count > left()) return fail(at_, "the file ends inside the header: truncated");
    auto* out = static_cast<unsigned char*>(to);
    while (count > 0 && !failed()) {
      if (at_ < begin_ || at_ >= begin_ + buffer_.size()) refill();
      if (failed()) return;
      const Bytes from = at_ - begin_;
      const Bytes now = std::min<Bytes>(count, buffer_.size() - from);
      std::memcpy(out, buffer_.data() + from, now);
      out += now;
      at_ += now;
      count -= now;
    }
  }
  template <typename T>
  T number() {
    T value{};
    bytes(&value, sizeof value);
    return failed() ? T{} : value;
  }
  void skip(Bytes count) {
    if (failed()) return;
    if (count > left()) return fail(at_, "the file ends inside the header: truncated");
    at_ += count;
  }
  // Its length first; longer than `longest`: walked over, and empty.
  std::string text(Bytes longest) {
    const Bytes begin = at_;
    const auto length = number<std::uint64_t>();
    if (!failed() && length > left()) fail(begin, "a text of " + std::to_string(length) + " bytes: truncated or wrong");
    if (failed()) return {};
    if (length > longest) return skip(length), std::string();
    std::string text(length, '\0');
    bytes(text.data(), length);
    if (!failed() && !is_utf8(text)) fail(begin, "a text that is not UTF-8");
    return text;
  }

 private:
  static bool is_utf8(const std::string& text) {
    try {
      return !Json(text).dump().empty();  // the library's own check
    } catch (const Json::exception&) {
      return false;
    }
  }
  void refill() {
    constexpr Bytes kPiece = 64 * kKiB;
    begin_ = at_;
    buffer_.resize(std::min(kPiece, left()));
    if (auto got = file_.read(begin_, buffer_.data(), buffer_.size()); !got) error_ = got.error();
  }

  const base::InputFile& file_;
  std::vector<unsigned char> buffer_;
  Bytes begin_ = 0;  // of the buffer, in the file
  Bytes at_ = 0;
  std::optional<Error> error_;
};

void skip_array(Head& head, int depth) {
  const Bytes begin = head.at();
  const auto type = head.number<std::uint32_t>();
  const auto count = head.number<std::uint64_t>();
  if (head.failed()) return;
  if (type > kMostValueType) return head.fail(begin, "unknown type " + std::to_string(type));
  if (depth > kDeepestArray) return head.fail(begin, "arrays in arrays, more than 4 deep");
  const Bytes each = kValueBytes[type];
  const Bytes least = each != 0 ? each : type == kString ? 8 : 12;
  if (count > head.left() / least) {
    return head.fail(begin, "an array of " + std::to_string(count) + " elements: truncated or wrong");
  }
  if (each != 0) return head.skip(count * each);
  for (std::uint64_t i = 0; i < count && !head.failed(); ++i) {
    if (type == kString) {
      (void)head.text(0);
    } else {
      skip_array(head, depth + 1);
    }
  }
}

// One metadata value as text; empty for arrays and what is too long.
std::string value_text(Head& head, std::uint32_t type) {
  switch (type) {
    case 0:
      return std::to_string(head.number<std::uint8_t>());
    case 1:
      return std::to_string(head.number<std::int8_t>());
    case 2:
      return std::to_string(head.number<std::uint16_t>());
    case 3:
      return std::to_string(head.number<std::int16_t>());
    case 4:
      return std::to_string(head.number<std::uint32_t>());
    case 5:
      return std::to_string(head.number<std::int32_t>());
    case 6:
      return std::to_string(head.number<float>());
    case kBool:
      return head.number<std::uint8_t>() != 0 ? "true" : "false";
    case kString:
      return head.text(kLongestText);
    case kArray:
      skip_array(head, 1);
      return {};
    case 10:
      return std::to_string(head.number<std::uint64_t>());
    case 11:
      return std::to_string(head.number<std::int64_t>());
    default:
      return std::to_string(head.number<double>());
  }
}

void read_metadata(Head& head, std::uint64_t count, std::map<std::string, std::string>& metadata, Bytes& alignment) {
  for (std::uint64_t i = 0; i < count && !head.failed(); ++i) {
    const Bytes begin = head.at();
    const std::string key = head.text(kLongestName);
    const auto type = head.number<std::uint32_t>();
    if (head.failed()) return;
    if (key.empty()) return head.fail(begin, "a metadata key that is empty or too long");
    if (type > kMostValueType)
      return head.fail(begin, "metadata " + printable(key) + " has the unknown type " + std::to_string(type));
    const std::string value = value_text(head, type);
    if (head.failed()) return;
    if (key == "general.alignment") {
      constexpr Bytes kMost = Bytes{1} << 20;
      alignment = type == 4 ? std::strtoull(value.c_str(), nullptr, 10) : 0;
      if (alignment == 0 || alignment % 8 != 0 || alignment > kMost) {
        return head.fail(begin, "general.alignment is " + printable(value) + ": no multiple of 8 up to 1 MiB");
      }
    }
    if (!value.empty() && !metadata.emplace(key, value).second) {
      return head.fail(begin, "metadata " + printable(key) + " is given twice");
    }
  }
}

StoredTensor read_info(Head& head) {
  StoredTensor tensor;
  const Bytes begin = head.at();
  tensor.name = head.text(kLongestName);
  const auto dimensions = head.number<std::uint32_t>();
  if (head.failed()) return tensor;
  if (tensor.name.empty()) return head.fail(begin, "a tensor whose name is empty or too long"), tensor;
  const std::string who = "tensor " + printable(tensor.name);
  if (dimensions > kMostDimensions)
    return head.fail(begin, who + " has " + std::to_string(dimensions) + " dimensions"), tensor;
  for (std::uint32_t d = 0; d < dimensions; ++d) tensor.shape.push_back(head.number<std::uint64_t>());
  const auto number = head.number<std::uint32_t>();
  tensor.offset = head.number<std::uint64_t>();
  if (head.failed()) return tensor;
  const auto* type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const BlockType& t) { return t.number == number; });
  if (type == std::end(kTypes))
    return head.fail(begin, who + " has the unknown type " + std::to_string(number)), tensor;
  tensor.type = type->name;
  // Rows are whole blocks.
  const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape[0];
  const auto elements = element_count(tensor.shape);
  if (!elements || row % type->elements != 0 || *elements / type->elements > UINT64_MAX / type->bytes) {
    head.fail(begin, who + ": its shape has too many elements, or its rows are no whole blocks of " +
                         std::to_string(type->elements));
    return tensor;
  }
  tensor.bytes = *elements / type->elements * type->bytes;
  return tensor;
}

}  // namespace

Result<void> read_gguf(const std::string& path, base::InputFile::Cache cache, ModelBuilder& builder) {
  auto file = base::InputFile::open(path);
  if (!file) return file.error();
  Head head(file.value());
  (void)head.number<std::uint32_t>();  // "GGUF"
  const auto version = head.number<std::uint32_t>();
  const auto tensors = head.number<std::uint64_t>();
  const auto entries = head.number<std::uint64_t>();
  if (!head.failed() && version != 2 && version != 3) {
    const bool swapped = (version & 0xffff) == 0;
    head.fail(
        4, "GGUF version " + std::to_string(version) + (swapped ? ", big-endian perhaps" : "") + ": 2 and 3 are known");
  }
  if (!head.failed() && entries > head.left() / kLeastEntry) {
    head.fail(16, std::to_string(entries) + " metadata entries: truncated or wrong");
  }
  if (!head.failed() && tensors > head.left() / kLeastTensorInfo) {
    head.fail(8, std::to_string(tensors) + " tensors: truncated or wrong");
  }
  Bytes alignment = kDefaultAlignment;
  if (!head.failed()) read_metadata(head, entries, builder.metadata(), alignment);
  std::vector<StoredTensor> found;
  for (std::uint64_t i = 0; i < tensors && !head.failed(); ++i) found.push_back(read_info(head));
  if (head.failed()) return head.error();

  const Bytes data = (head.at() + alignment - 1) / alignment * alignment;
  const auto fault = [&](const StoredTensor& tensor, const std::string& what) {
    return Error{Errc::kBadFile, path + ": tensor " + printable(tensor.name) + " at offset " +
                                     std::to_string(tensor.offset) + " of the data " + what};
  };
  for (const StoredTensor& tensor : found) {
    if (tensor.offset % alignment != 0) return fault(tensor, "is not aligned to " + std::to_string(alignment));
    const Bytes room = file->size() - std::min(file->size(), data);
    if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
      return fault(tensor, "needs " + std::to_string(tensor.bytes) + " bytes, the file's data has " +
                               std::to_string(room) + ": truncated or wrong");
    }
  }
  if (cache == base::InputFile::Cache::kDirect) {
    auto direct = base::InputFile::open(path, cache);
    if (!direct) return direct.error();
    file = std::move(direct);
  }
  const std::size_t index = builder.add_file(std::move(file).value());
  for (StoredTensor& tensor : found) {
    tensor.file = index;
    tensor.offset += data;
    builder.add(std::move(tensor));
  }
  builder.set_format("GGUF v" + std::to_string(version));
  return {};
}

}  // namespace tidegate::store
