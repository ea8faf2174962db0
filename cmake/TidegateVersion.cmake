# generated/tidegate_build.h: TIDEGATE_GIT_DESCRIBE, so that only the files that print it are rebuilt with a commit.

set(TIDEGATE_GIT_DESCRIBE "v${PROJECT_VERSION}")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" describe --tags --always --dirty
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(TIDEGATE_GIT_DESCRIBE "${described}")
  endif()
endif()

configure_file("${PROJECT_SOURCE_DIR}/cmake/tidegate_build.h.in" "${PROJECT_BINARY_DIR}/generated/tidegate_build.h" @ONLY)
set(TIDEGATE_BUILD_SOURCE "${PROJECT_BINARY_DIR}/generated/tidegate_build.cpp")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tidegate_build.cpp.in" "${TIDEGATE_BUILD_SOURCE}" @ONLY)
