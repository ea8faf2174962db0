// A strict reader of JSON objects, for profiles: every key must be known, present and sane.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace tidegate::sim {

using Json = nlohmann::json;

// Reads one JSON object strictly: remembers the first complaint, and in the end every key must have been asked for.
class JsonGroup {
 public:
  JsonGroup(const Json& json, std::string path, std::string where, std::string& complaint)
      : json_(json), path_(std::move(path)), where_(std::move(where)), complaint_(complaint) {
    if (!json_.is_object()) complain("", "must be an object");
  }

  double number(const std::string& key, double low, double high) {
    const Json* value = get(key);
    if (value == nullptr) return 0;
    if (!value->is_number()) return complain(key, "must be a number"), 0;
    const double number = value->get<double>();
    if (!(number >= low && number <= high)) {
      return complain(key, "is " + value->dump() + ", outside " + Json(low).dump() + " ... " + Json(high).dump()), 0;
    }
    return number;
  }

  std::int64_t integer(const std::string& key, double low, double high) {
    const Json* value = get(key);
    if (value == nullptr) return 0;
    if (!value->is_number_integer()) return complain(key, "must be an integer"), 0;
    return static_cast<std::int64_t>(number(key, low, high));
  }

  bool flag(const std::string& key) {
    const Json* value = get(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return complain(key, "must be true or false"), false;
    return value->get<bool>();
  }

  // Whether a key that may be left out is there.
  bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }

  std::string text(const std::string& key) {
    const Json* value = get(key);
    if (value == nullptr) return {};
    if (!value->is_string() || value->get<std::string>().empty()) return complain(key, "must be a text"), std::string();
    return value->get<std::string>();
  }

  JsonGroup group(const std::string& key) {
    static const Json empty = Json::object();
    const Json* value = get(key);
    return JsonGroup(value == nullptr ? empty : *value, path_ + key + ".", where_, complaint_);
  }

  // "source" and "assumed" are for readers; every assumption must name a key of its group.
  void provenance() {
    text("source");
    if (!json_.is_object() || !json_.contains("assumed")) return;
    known_.insert("assumed");
    const Json& assumed = json_["assumed"];
    if (!assumed.is_array()) return complain("assumed", "must be a list of keys");
    for (const Json& key : assumed) {
      if (!key.is_string()) return complain("assumed", "must be a list of keys");
      if (!json_.contains(key.get<std::string>())) complain("assumed", "names " + key.dump() + ", which is not there");
    }
  }

  const Json& json() const { return json_; }
  void know(const std::string& key) { known_.insert(key); }

  void done() {
    if (!json_.is_object()) return;
    for (const auto& item : json_.items()) {
      if (known_.count(item.key()) == 0) complain(item.key(), "is not a key of a profile");
    }
  }

  void complain(const std::string& key, const std::string& what) {
    if (!complaint_.empty()) return;
    std::string name = path_ + key;
    if (!name.empty() && name.back() == '.') name.pop_back();
    complaint_ = where_ + ": " + (name.empty() ? "the profile" : "\"" + name + "\"") + " " + what;
  }

 private:
  const Json* get(const std::string& key) {
    known_.insert(key);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    if (found != json_.end()) return &*found;
    complain(key, "is missing");
    return nullptr;
  }

  const Json& json_;
  std::string path_;
  std::string where_;
  std::string& complaint_;
  std::set<std::string> known_;
};

}  // namespace tidegate::sim
