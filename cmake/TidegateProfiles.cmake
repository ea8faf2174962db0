# The card profiles are compiled into the simulator, so that it needs no file at run time.

file(GLOB profiles CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/sim/profiles/*.json")
set(TIDEGATE_PROFILES_SOURCE "${PROJECT_BINARY_DIR}/generated/embedded_profiles.cpp")
set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedProfiles.cmake")
list(JOIN profiles "|" joined) # a list does not survive the command line
add_custom_command(
  OUTPUT "${TIDEGATE_PROFILES_SOURCE}"
  COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${TIDEGATE_PROFILES_SOURCE}" "-DPROFILES=${joined}" -P "${script}"
  DEPENDS ${profiles} "${script}"
  COMMENT "Embedding the card profiles"
  VERBATIM)
