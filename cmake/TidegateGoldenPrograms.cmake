# The program of tests/golden: processes that find the driver by its libraries' names.
add_executable(golden_processes "${PROJECT_SOURCE_DIR}/tests/support/programs/golden_processes.cpp"
                                "${PROJECT_SOURCE_DIR}/tests/support/programs/golden_process.cpp")
target_link_libraries(golden_processes PRIVATE tidegate_options tidegate_deps tidegate_static)
set_target_properties(golden_processes PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")
target_compile_definitions(test_golden PRIVATE "TIDEGATE_GOLDEN_PROCESSES=\"$<TARGET_FILE:golden_processes>\"")
add_dependencies(test_golden golden_processes tidegate_faces)
