# The C programs of tests/front: programs of the driver API, as other people write them.
enable_language(C)
set(front_programs "${PROJECT_BINARY_DIR}/bin/tests")
target_compile_definitions(test_front PRIVATE "TIDEGATE_FRONT_DIR=\"${PROJECT_BINARY_DIR}/lib\""
                                              "TIDEGATE_FRONT_PROGRAMS=\"${front_programs}\"")
add_dependencies(test_front tidegate_faces)

set(way 0)
foreach(program IN ITEMS front_linked front_dlopen front_proc_address)
  math(EXPR way "${way} + 1")
  add_executable(${program} "${PROJECT_SOURCE_DIR}/tests/front/program.c")
  target_compile_definitions(${program} PRIVATE WAY=${way})
endforeach()
add_executable(front_newer "${PROJECT_SOURCE_DIR}/tests/front/newer_program.c")
add_library(front_newer_library MODULE "${PROJECT_SOURCE_DIR}/tests/front/newer.c")
set_target_properties(front_newer_library PROPERTIES OUTPUT_NAME newer)
foreach(program IN ITEMS front_linked front_newer)
  add_dependencies(${program} tidegate_faces)
  # By -lcuda and the search path, as a stranger's build finds it.
  target_link_options(${program} PRIVATE "-L${PROJECT_BINARY_DIR}/lib" -Wl,--allow-shlib-undefined)
  target_link_libraries(${program} PRIVATE -lcuda)
endforeach()
foreach(target IN ITEMS front_linked front_dlopen front_proc_address front_newer front_newer_library)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${front_programs}"
                                             LIBRARY_OUTPUT_DIRECTORY "${front_programs}")
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(test_front ${target})
endforeach()
