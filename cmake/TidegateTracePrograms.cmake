# same_trace: what worlds do, to be compared between builds (tools/same_trace.sh).
add_executable(same_trace "${PROJECT_SOURCE_DIR}/tests/support/programs/same_trace.cpp"
                          "${PROJECT_SOURCE_DIR}/tests/property/actor.cpp" "${PROJECT_SOURCE_DIR}/tests/property/world.cpp")
target_link_libraries(same_trace PRIVATE tidegate_test_support)
set_target_properties(same_trace PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")
add_dependencies(tidegate_tests same_trace)
