# bench/trial: bin/bench/aimdo_host, which drives other people's memory managers (docs/aimdo-on-trial.md).

add_custom_target(tidegate_trial)
if(NOT TARGET tidegate_cli_code)
  return()
endif()
tidegate_sources(trial_sources bench/trial)
add_executable(aimdo_host ${trial_sources})
target_link_libraries(aimdo_host PRIVATE tidegate_cli_code)
# ENABLE_EXPORTS: the peer's library is to find the host's clock.
set_target_properties(aimdo_host PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/bench" ENABLE_EXPORTS ON)
add_dependencies(tidegate_trial aimdo_host)
