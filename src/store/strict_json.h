// JSON from strangers: parsed once, strictly, with bounds on depth; and a view of it that names places in errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tidegate/result.h"

namespace tidegate::store {

using Json = nlohmann::json;

// Refuses what is no JSON (bad UTF-8 included), a key given twice, and more than 16 levels. Errors: kBadFile, one line:
// "<where>: line 3, column 7: ...".
Result<Json> parse_strict_json(std::string_view text, const std::string& where);

// `text` fit for a one-line message: control characters and quotes escaped, cut after 80 bytes.
std::string printable(std::string_view text);

// A value and how it was reached: "$.models[0].name". Readers return none after the first fault, which is kept.
class JsonReader {
 public:
  explicit JsonReader(std::string where) : where_(std::move(where)) {}

  struct Node {
    const Json* value = nullptr;
    std::string path = "$";
  };

  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  // Keeps the first fault only. Returns false, for brevity at the caller's.
  bool fail(const Node& at, const std::string& what);

  // An object with all of `required` and nothing beyond `required` and `optional`.
  bool check_object(const Node& at, const std::vector<std::string_view>& required,
                    const std::vector<std::string_view>& optional);
  bool has(const Node& at, std::string_view key) const { return at.value->contains(key); }
  Node member(const Node& at, std::string_view key) const;
  std::vector<Node> elements(const Node& at, std::size_t most);  // of an array

  std::string text(const Node& at, std::size_t longest = 512);  // not empty, no control characters
  std::uint64_t whole(const Node& at, std::uint64_t least, std::uint64_t most);

 private:
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace tidegate::store
