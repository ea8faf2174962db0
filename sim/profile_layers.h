// The text of a card profile before it is read: what it extends, and changes on top.
#pragma once

#include <string>
#include <vector>

#include "sim/json_group.h"
#include "tidegate/result.h"

namespace tidegate::sim {

// The text of a compiled-in profile or of a file. Errors: kNotFound (with the names that exist), kIo.
Result<std::string> profile_text(const std::string& name_or_path);

// Parses `text`; where it names another profile in "extends", what that one says and this one does not is taken over
// (an object key by key, null removes a key). Errors: kBadFile, and those of profile_text().
Result<Json> parse_layers(const std::string& text, const std::string& where);

// Applies "group.key=value". Errors: kInvalidArgument, in one line.
Result<void> change(Json& profile, const std::string& assignment);

}  // namespace tidegate::sim
