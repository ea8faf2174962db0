#include "sim/profile_layers.h"

#include <fstream>
#include <iterator>

#include "sim/embedded_profiles.h"

namespace tidegate::sim {

namespace {

constexpr int kMostLayers = 8;
constexpr const char* kExtends = "extends";

Result<Json> parse(const std::string& text, const std::string& where, int layers) {
  Json own = Json::parse(text, nullptr, false);
  if (own.is_discarded()) return Error{Errc::kBadFile, where + ": is not valid JSON"};
  if (!own.is_object() || !own.contains(kExtends)) return own;
  const Json base = own[kExtends];
  own.erase(kExtends);
  if (!base.is_string()) return Error{Errc::kBadFile, where + ": \"extends\" must be a text"};
  if (layers >= kMostLayers) return Error{Errc::kBadFile, where + ": \"extends\" goes in a circle"};
  const std::string name = base.get<std::string>();
  auto base_text = profile_text(name);
  if (!base_text) return Error{base_text.error().code, where + ": \"extends\": " + base_text.error().message};
  auto whole = parse(base_text.value(), name, layers + 1);
  if (!whole) return whole;
  whole.value().merge_patch(own);
  return whole;
}

}  // namespace

Result<std::string> profile_text(const std::string& name_or_path) {
  std::string known;
  for (const EmbeddedProfile& embedded : embedded_profiles()) {
    if (embedded.name == name_or_path) return std::string(embedded.json);
    known += (known.empty() ? "" : ", ") + std::string(embedded.name);
  }
  std::ifstream file(name_or_path, std::ios::binary);
  if (!file) {
    return Error{Errc::kNotFound, name_or_path + ": neither a file nor a card profile (profiles: " + known + ")"};
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return Error{Errc::kIo, name_or_path + ": cannot be read"};
  return text;
}

Result<Json> parse_layers(const std::string& text, const std::string& where) { return parse(text, where, 1); }

Result<void> change(Json& profile, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const auto refuse = [&](const std::string& why) { return Error{Errc::kInvalidArgument, assignment + ": " + why}; };
  if (equals == std::string::npos || equals == 0) return refuse("must be group.key=value");
  if (!profile.is_object()) return refuse("the profile is no object");
  const std::string value = assignment.substr(equals + 1);
  Json parsed = Json::parse(value, nullptr, false);
  if (parsed.is_discarded()) parsed = value;  // a text needs no quotes
  Json* at = &profile;
  std::size_t begin = 0;
  // "A.4" is a rule's name: within "rules" the rest is one key.
  for (std::size_t dot = assignment.find('.'); dot < equals; dot = assignment.find('.', begin)) {
    Json& inner = (*at)[assignment.substr(begin, dot - begin)];
    if (!inner.is_object() && !inner.is_null()) return refuse("leads through something that is no group");
    at = &inner;
    begin = dot + 1;
    if (assignment.compare(0, begin, "rules.") == 0) break;
  }
  (*at)[assignment.substr(begin, equals - begin)] = parsed;
  return {};
}

}  // namespace tidegate::sim
