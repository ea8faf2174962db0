# The client program of tests/broker.
add_executable(broker_client "${PROJECT_SOURCE_DIR}/tests/support/programs/broker_client.cpp")
target_link_libraries(broker_client PRIVATE tidegate_options tidegate_deps tidegate_sim tidegate_static)
set_target_properties(broker_client PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests")
target_compile_definitions(test_broker PRIVATE "TIDEGATE_BROKER_CLIENT=\"$<TARGET_FILE:broker_client>\"")
add_dependencies(test_broker broker_client)
