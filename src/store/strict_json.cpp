#include "src/store/strict_json.h"

#include <algorithm>
#include <set>

namespace tidegate::store {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kLongestExcerpt = 80;

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t last = before.rfind('\n');
  const std::size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1);
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(column + 1);
}

// Watches the parser go by: depth, and the keys of the objects that are open.
class Watcher {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (!fault_.empty()) return false;
    switch (event) {
      case Event::object_start:
        keys_.emplace_back();
        break;
      case Event::object_end:
        if (!keys_.empty()) keys_.pop_back();
        break;
      case Event::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys_.empty() && !keys_.back().insert(key).second) {
          fault_ = "the key " + printable(key) + " is given twice in one object";
        }
        break;
      }
      default:
        break;
    }
    if (depth > kMaxDepth) fault_ = "nested more than " + std::to_string(kMaxDepth) + " levels deep";
    return fault_.empty();
  }
  const std::string& fault() const { return fault_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string fault_;
};

}  // namespace

std::string printable(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "'";
  for (const char letter : text.substr(0, kLongestExcerpt)) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7F) {
      out += "\\x";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    } else {
      out += letter;
    }
  }
  out += text.size() > kLongestExcerpt ? "...'" : "'";
  return out;
}

Result<Json> parse_strict_json(std::string_view text, const std::string& where) {
  Watcher watcher;
  try {
    Json parsed = Json::parse(text.begin(), text.end(), std::ref(watcher));
    if (!watcher.fault().empty()) return Error{Errc::kBadFile, where + ": " + watcher.fault()};
    return parsed;
  } catch (const Json::parse_error& fault) {
    if (!watcher.fault().empty()) return Error{Errc::kBadFile, where + ": " + watcher.fault()};
    return Error{Errc::kBadFile, where + ": " + line_and_column(text, fault.byte) + ": not valid JSON"};
  } catch (const Json::exception&) {  // a number out of any range
    return Error{Errc::kBadFile, where + ": not valid JSON: a number is out of range"};
  }
}

bool JsonReader::fail(const Node& at, const std::string& what) {
  if (!error_) error_ = Error{Errc::kBadFile, where_ + ": " + at.path + ": " + what};
  return false;
}

bool JsonReader::check_object(const Node& at, const std::vector<std::string_view>& required,
                              const std::vector<std::string_view>& optional) {
  if (failed()) return false;
  if (!at.value->is_object()) return fail(at, "must be an object");
  for (const auto& item : at.value->items()) {
    const std::string& key = item.key();
    const auto is_key = [&](std::string_view known) { return known == key; };
    if (std::none_of(required.begin(), required.end(), is_key) &&
        std::none_of(optional.begin(), optional.end(), is_key)) {
      return fail(at, "unknown key " + printable(key));
    }
  }
  for (const std::string_view key : required) {
    if (!at.value->contains(key)) return fail(at, "lacks the key '" + std::string(key) + "'");
  }
  return true;
}

JsonReader::Node JsonReader::member(const Node& at, std::string_view key) const {
  return {&at.value->at(std::string(key)), at.path + "." + std::string(key)};
}

std::vector<JsonReader::Node> JsonReader::elements(const Node& at, std::size_t most) {
  std::vector<Node> nodes;
  if (failed()) return nodes;
  if (!at.value->is_array()) {
    fail(at, "must be an array");
    return nodes;
  }
  if (at.value->size() > most) {
    fail(at, "has more than " + std::to_string(most) + " elements");
    return nodes;
  }
  nodes.reserve(at.value->size());
  for (std::size_t i = 0; i < at.value->size(); ++i) {
    nodes.push_back({&(*at.value)[i], at.path + "[" + std::to_string(i) + "]"});
  }
  return nodes;
}

std::string JsonReader::text(const Node& at, std::size_t longest) {
  if (failed()) return {};
  if (!at.value->is_string()) {
    fail(at, "must be a string");
    return {};
  }
  const auto& value = at.value->get_ref<const std::string&>();
  const auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F; };
  if (value.empty() || value.size() > longest || std::any_of(value.begin(), value.end(), is_control)) {
    fail(at, "must be a text of 1 to " + std::to_string(longest) + " bytes without control characters");
    return {};
  }
  return value;
}

std::uint64_t JsonReader::whole(const Node& at, std::uint64_t least, std::uint64_t most) {
  if (failed()) return least;
  const bool is_whole = at.value->is_number_unsigned();
  const std::uint64_t value = is_whole ? at.value->get<std::uint64_t>() : 0;
  if (!is_whole || value < least || value > most) {
    fail(at, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return least;
  }
  return value;
}

}  // namespace tidegate::store
