# bench/<name>.cpp becomes bin/bench/<name>. Target tidegate_bench builds all of them.

add_custom_target(tidegate_bench)
if(NOT TIDEGATE_BENCH)
  message(NOTICE "benchmarks: off (TIDEGATE_BENCH)")
  return()
endif()

find_package(benchmark CONFIG QUIET)
if(NOT TARGET benchmark::benchmark_main)
  if(TIDEGATE_REQUIRE_TESTS)
    message(FATAL_ERROR "Google Benchmark is missing. On Debian or Ubuntu: make deps-test.")
  endif()
  message(NOTICE "benchmarks: off, Google Benchmark is missing")
  return()
endif()

tidegate_sources(bench_sources bench)
foreach(source IN LISTS bench_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(bench_${name} "${source}")
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name}
                                                 RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/bench")
  target_link_libraries(bench_${name} PRIVATE tidegate_options tidegate_deps tidegate_sim tidegate_static
                                              benchmark::benchmark_main benchmark::benchmark)
  add_dependencies(tidegate_bench bench_${name})
endforeach()

# bench/gpu/<name>.cpp with a main measures a card: bin/bench/gpu/<name>; --card takes a simulated one. The others are
# what these share.
if(TARGET tidegate_cli11)
  tidegate_sources(gpu_sources bench/gpu)
  set(gpu_shared ${gpu_sources})
  list(FILTER gpu_shared INCLUDE REGEX "/(kit|layer_work|passes|record)\\.cpp$")
  list(REMOVE_ITEM gpu_sources ${gpu_shared})
  add_library(tidegate_bench_gpu STATIC ${gpu_shared})
  target_link_libraries(tidegate_bench_gpu PUBLIC tidegate_options tidegate_deps tidegate_cli11 tidegate_sim tidegate_static)
  foreach(source IN LISTS gpu_sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(bench_gpu_${name} "${source}")
    set_target_properties(bench_gpu_${name} PROPERTIES OUTPUT_NAME ${name}
                                                       RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/bench/gpu")
    target_link_libraries(bench_gpu_${name} PRIVATE tidegate_bench_gpu)
    add_dependencies(tidegate_bench bench_gpu_${name})
  endforeach()
endif()
