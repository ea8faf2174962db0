# cmake -DOUTPUT=<file.cpp> -DPROFILES=<a.json|b.json> -P EmbedProfiles.cmake

set(entries "")
set(count 0)
string(REPLACE "|" ";" profiles "${PROFILES}")
foreach(profile IN LISTS profiles)
  get_filename_component(name "${profile}" NAME_WE)
  file(READ "${profile}" json)
  if(json MATCHES "\\)tgjson\"")
    message(FATAL_ERROR "${profile} holds the delimiter of the literal that embeds it")
  endif()
  string(APPEND entries "    EmbeddedProfile{\"${name}\", R\"tgjson(${json})tgjson\"},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE "${OUTPUT}" "// Generated from sim/profiles/ by cmake/EmbedProfiles.cmake.
#include \"sim/embedded_profiles.h\"

#include <array>

namespace tidegate::sim {

std::span<const EmbeddedProfile> embedded_profiles() {
  static constexpr std::array<EmbeddedProfile, ${count}> kProfiles{
${entries}  };
  return kProfiles;
}

}  // namespace tidegate::sim
")
