# tests/<name>/**.cpp becomes bin/tests/test_<name>, registered with ctest under the label <name> and the labels that
# tests/<name>/labels lists, one a line. tests/support/ is a library that all of them link.
#
# Targets: tidegate_tests builds all of them, tests_<label> those of one label.

enable_testing()
add_custom_target(tidegate_tests)
if(NOT TIDEGATE_TESTS)
  message(NOTICE "tests: off (TIDEGATE_TESTS)")
  return()
endif()

find_package(GTest CONFIG QUIET)
if(NOT TARGET GTest::gmock_main AND CMAKE_CROSSCOMPILING)
  # From source, as Debian's package googletest has it.
  find_path(TIDEGATE_GTEST_SOURCE googlemock/CMakeLists.txt PATHS /usr/src/googletest NO_CMAKE_FIND_ROOT_PATH)
  if(TIDEGATE_GTEST_SOURCE)
    set(INSTALL_GTEST OFF)
    set(INSTALL_GMOCK OFF)
    add_subdirectory("${TIDEGATE_GTEST_SOURCE}" "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
  endif()
endif()
if(NOT TARGET GTest::gmock_main)
  if(TIDEGATE_REQUIRE_TESTS)
    message(FATAL_ERROR "GoogleTest is missing. On Debian or Ubuntu: make deps-test.")
  endif()
  message(NOTICE "tests: off, GoogleTest is missing")
  return()
endif()
include(GoogleTest)

file(GLOB entries CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/tests/*")

add_library(tidegate_test_support INTERFACE)
target_link_libraries(tidegate_test_support INTERFACE tidegate_options tidegate_deps tidegate_sim tidegate_static
                                                      GTest::gmock)
target_compile_definitions(tidegate_test_support INTERFACE "TIDEGATE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\""
                                                           "TIDEGATE_BINARY_DIR=\"${PROJECT_BINARY_DIR}\"")
tidegate_sources(support_sources tests/support)
if(support_sources)
  add_library(tidegate_test_support_code STATIC ${support_sources})
  target_link_libraries(tidegate_test_support_code PRIVATE tidegate_test_support)
endif()

foreach(entry IN LISTS entries)
  get_filename_component(name "${entry}" NAME)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${entry}/*.cpp")
  if(WIN32)
    list(FILTER sources EXCLUDE REGEX "_(linux|posix)\\.cpp$")
  endif()
  if(NOT IS_DIRECTORY "${entry}" OR name STREQUAL "support" OR NOT sources)
    continue()
  endif()
  if(name MATCHES "^(front|golden|probe|trial)$" AND NOT TARGET tidegate_faces)
    continue()
  endif()
  # Some are of one system: those that start programs or have a broker, and those with the driver's libraries of that one.
  if(WIN32 AND name MATCHES "^(broker|cli|front|golden|probe|trial)$" OR NOT WIN32 AND name STREQUAL "windows")
    continue()
  endif()

  set(labels "${name}")
  if(EXISTS "${entry}/labels")
    file(STRINGS "${entry}/labels" more)
    list(APPEND labels ${more})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${entry}/labels")
  endif()

  add_executable(test_${name} ${sources})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")
  if(TARGET tidegate_test_support_code)
    target_link_libraries(test_${name} PRIVATE tidegate_test_support_code)
  endif()
  target_link_libraries(test_${name} PRIVATE tidegate_test_support GTest::gmock_main)
  add_dependencies(tidegate_tests test_${name})
  foreach(label IN LISTS labels)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} test_${name})
  endforeach()

  # Layouts and constants that we wrote down ourselves are held against NVIDIA's, where a toolkit is installed.
  if(name STREQUAL "abi")
    find_path(TIDEGATE_CUDA_INCLUDE cuda.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include)
    if(TIDEGATE_CUDA_INCLUDE)
      target_include_directories(test_abi SYSTEM PRIVATE "${TIDEGATE_CUDA_INCLUDE}")
    endif()
  endif()

  # Programs in C that find the driver's face in different ways.
  if(name STREQUAL "front")
    include(TidegateFrontPrograms)
  endif()

  if(name STREQUAL "windows")
    target_compile_definitions(test_windows PRIVATE "TIDEGATE_FRONT_DIR=\"$<TARGET_FILE_DIR:tidegate_front_cuda>\"")
    add_dependencies(test_windows tidegate_faces)
  endif()

  if(name STREQUAL "broker")
    include(TidegateBrokerPrograms)
  endif()
  if(name STREQUAL "trial")
    target_sources(test_trial PRIVATE "${PROJECT_SOURCE_DIR}/bench/trial/needs.cpp")
    target_compile_definitions(test_trial PRIVATE "TIDEGATE_AIMDO_HOST=\"${PROJECT_BINARY_DIR}/bin/bench/aimdo_host\"")
    add_dependencies(test_trial aimdo_host tidegate_faces)
  endif()
  if(name STREQUAL "golden")
    include(TidegateGoldenPrograms)
  endif()
  if(name STREQUAL "probe")
    add_dependencies(test_probe tidegate_faces)
  endif()

  # Tests that start the program or load the library find them up to date.
  add_dependencies(test_${name} tidegate_shared)
  if(TARGET tidegate_cli)
    target_link_libraries(test_${name} PRIVATE tidegate_cli_code)
    target_compile_definitions(test_${name} PRIVATE "TIDEGATE_PROGRAM=\"$<TARGET_FILE:tidegate_cli>\"")
    add_dependencies(test_${name} tidegate_cli)
  endif()

  gtest_discover_tests(
    test_${name}
    TEST_PREFIX "${name}."
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${TIDEGATE_TEST_TIMEOUT})

  # gtest_discover_tests cannot carry a list of labels: ctest reads this after the list of tests. A test that was not
  # built has its labels too, so that a run which selects it fails.
  set(label_file "${PROJECT_BINARY_DIR}/generated/labels_${name}.cmake")
  file(CONFIGURE OUTPUT "${label_file}" @ONLY CONTENT [[
if(NOT test_@name@_TESTS)
  set(test_@name@_TESTS test_@name@_NOT_BUILT)
endif()
foreach(test IN LISTS test_@name@_TESTS)
  set_tests_properties("${test}" PROPERTIES LABELS "@labels@")
endforeach()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${label_file}")
endforeach()

include(TidegateTracePrograms)

# A real model from PyPI, where that can be reached; skipped by name elsewhere.
if(TARGET tidegate_cli AND UNIX)
  add_test(NAME real_model.SentenceEmbedding
           COMMAND "${PROJECT_SOURCE_DIR}/tests/real_model/run.sh" "$<TARGET_FILE:tidegate_cli>")
  set_tests_properties(real_model.SentenceEmbedding PROPERTIES LABELS "real_model;network" SKIP_RETURN_CODE 77
                                                               TIMEOUT ${TIDEGATE_TEST_TIMEOUT})
endif()

# Other people's programs from PyPI on the driver's face; skipped by name where PyPI cannot be reached.
if(TARGET tidegate_faces)
  add_test(NAME front.Wheels COMMAND "${PROJECT_SOURCE_DIR}/tests/front/wheels.sh" "${PROJECT_BINARY_DIR}/lib")
  set_tests_properties(front.Wheels PROPERTIES LABELS "front;program;network" SKIP_RETURN_CODE 77
                                               TIMEOUT ${TIDEGATE_TEST_TIMEOUT})
  # Each contestant of docs/aimdo-on-trial.md through one pass of each step.
  if(TARGET tidegate_cli AND UNIX)
    add_test(NAME trial.Wheels COMMAND "${PROJECT_SOURCE_DIR}/tools/aimdo_trial.py" --seeds 1 --passes 1 --build
                                       "${PROJECT_BINARY_DIR}" --out "${PROJECT_BINARY_DIR}/aimdo-trial.json")
    set_tests_properties(trial.Wheels PROPERTIES LABELS "trial;program;network" SKIP_RETURN_CODE 77
                                                 TIMEOUT ${TIDEGATE_TEST_TIMEOUT})
  endif()
endif()
