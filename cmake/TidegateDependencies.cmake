# Third parties. All that the library needs are header-only. Where a package brings no CMake files, its headers are
# looked for directly: -DCMAKE_INCLUDE_PATH=<folder that holds fmt/, spdlog/, CLI/, nlohmann/> is enough.

find_package(Threads REQUIRED)

# tidegate_header_only(<target> <package> <imported target> <header>): makes interface library <target>, or nothing.
function(tidegate_header_only target package imported header)
  find_package(${package} CONFIG QUIET)
  if(TARGET ${imported})
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${imported})
    return()
  endif()
  find_path(TIDEGATE_${package}_INCLUDE "${header}")
  if(TIDEGATE_${package}_INCLUDE)
    add_library(${target} INTERFACE)
    target_include_directories(${target} SYSTEM INTERFACE "${TIDEGATE_${package}_INCLUDE}")
  endif()
endfunction()

tidegate_header_only(tidegate_fmt fmt fmt::fmt-header-only fmt/core.h)
tidegate_header_only(tidegate_spdlog spdlog spdlog::spdlog_header_only spdlog/spdlog.h)
tidegate_header_only(tidegate_json nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
tidegate_header_only(tidegate_cli11 CLI11 CLI11::CLI11 CLI/CLI.hpp)

add_library(tidegate_deps INTERFACE)
foreach(dependency IN ITEMS fmt spdlog json)
  if(NOT TARGET tidegate_${dependency})
    message(FATAL_ERROR "${dependency} is missing. On Debian or Ubuntu: make deps. Elsewhere see docs/dependencies.md.")
  endif()
  target_link_libraries(tidegate_deps INTERFACE tidegate_${dependency})
endforeach()
target_compile_definitions(tidegate_deps INTERFACE FMT_HEADER_ONLY=1 SPDLOG_FMT_EXTERNAL)
target_link_libraries(tidegate_deps INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
