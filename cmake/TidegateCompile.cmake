# tidegate_options: what every target of this project is compiled with.

get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT is_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Only what TG_API marks leaves the shared library; the C++ interface is used through the static one.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(TIDEGATE_CCACHE ccache)
if(TIDEGATE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TIDEGATE_CCACHE}")
endif()

add_library(tidegate_options INTERFACE)
target_include_directories(tidegate_options INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}"
                                                      "${PROJECT_BINARY_DIR}/generated")
target_compile_definitions(tidegate_options INTERFACE "TIDEGATE_VERSION=\"${PROJECT_VERSION}\"")

if(WIN32)
  target_compile_definitions(tidegate_options INTERFACE NOMINMAX WIN32_LEAN_AND_MEAN UNICODE _UNICODE
                                                        _WIN32_WINNT=0x0A00)
endif()

if(MSVC)
  target_compile_options(tidegate_options INTERFACE /W4 /permissive- /utf-8 /Zc:__cplusplus /Zc:preprocessor
                                                    $<$<BOOL:${TIDEGATE_WERROR}>:/WX>)
else()
  # clang counts sign conversion to -Wconversion, g++ does not: the two are kept alike.
  target_compile_options(tidegate_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                                    $<$<BOOL:${TIDEGATE_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(tidegate_options INTERFACE -Wno-restrict) # GCC bug 105651: false alarm in std::string
  endif()
endif()

if(NOT MSVC AND (TIDEGATE_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug"))
  target_compile_definitions(tidegate_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

if(TIDEGATE_SANITIZE)
  # One optimisation level for all: fast enough to run every test, stacks still readable.
  set(sanitize_flags "-fsanitize=${TIDEGATE_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  target_compile_options(tidegate_options INTERFACE ${sanitize_flags})
  target_link_options(tidegate_options INTERFACE "-fsanitize=${TIDEGATE_SANITIZE}")
  string(REPLACE "," ";" sanitizers "${TIDEGATE_SANITIZE}")
  foreach(sanitizer IN LISTS sanitizers)
    string(TOUPPER "${sanitizer}" name)
    target_compile_definitions(tidegate_options INTERFACE "TIDEGATE_SANITIZE_${name}=1")
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumentation defeats g++'s flow analysis; the release build keeps these as errors.
    target_compile_options(tidegate_options INTERFACE -Wno-maybe-uninitialized -Wno-error=tsan)
  endif()
endif()

# Hides what templates of the standard library would export besides the C ABI.
function(tidegate_restrict_exports target map)
  if(UNIX AND NOT APPLE)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
    set_target_properties(${target} PROPERTIES LINK_DEPENDS "${map}")
    if(NOT TIDEGATE_SANITIZE)
      target_link_options(${target} PRIVATE "LINKER:-z,defs")
    endif()
  endif()
endfunction()
