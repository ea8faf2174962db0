# nvcuda.dll, nvml.dll, dxgi.dll, dxcore.dll: everything lies in the first, so that a process has one machine; the others forward to
# it by name.

# tidegate_exports(<output> <suffix> <listing ...>): a module definition file of all entry points in the listings, each
# `name` or `name = nvcuda.name`.
function(tidegate_exports output library forward)
  set(text "LIBRARY ${library}\nEXPORTS\n")
  foreach(listing IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${listing}")
    file(STRINGS "${listing}" rows REGEX "^[^#]")
    foreach(row IN LISTS rows)
      string(REGEX MATCH "^[^ ]+" name "${row}")
      string(APPEND text "  ${name}")
      if(forward)
        string(APPEND text " = ${forward}.${name}")
      endif()
      string(APPEND text "\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT "${text}" @ONLY)
endfunction()

set(here "${CMAKE_CURRENT_SOURCE_DIR}")
set(generated "${PROJECT_BINARY_DIR}/generated")
set(cuda "${here}/cuda_entry_points.txt")
set(nvml "${here}/nvml_entry_points.txt")
set(dxgi "${here}/dxgi_entry_points.txt")
set(dxcore "${here}/dxcore_entry_points.txt")
tidegate_exports("${generated}/nvcuda.def" nvcuda.dll "" "${cuda}" "${nvml}" "${dxgi}" "${dxcore}" "${here}/sim_entry_points.txt")
tidegate_exports("${generated}/nvml.def" nvml.dll nvcuda "${nvml}")
tidegate_exports("${generated}/dxgi.def" dxgi.dll nvcuda "${dxgi}")
tidegate_exports("${generated}/dxcore.def" dxcore.dll nvcuda "${dxcore}")

tidegate_generated_faces(cuda_generated cuda ${cuda_sources})
tidegate_generated_faces(nvml_generated nvml ${nvml_sources})
add_library(tidegate_front_cuda SHARED ${front_sources} ${cuda_sources} ${nvml_sources} ${cuda_generated}
                                       ${nvml_generated} real_symbols_windows.cpp dxgi_windows.cpp dxcore_windows.cpp "${generated}/nvcuda.def")
target_link_libraries(tidegate_front_cuda PRIVATE tidegate_options tidegate_deps tidegate_sim tidegate_static)
add_custom_target(tidegate_faces DEPENDS tidegate_front_cuda)
foreach(library IN ITEMS nvml dxgi dxcore)
  add_library(tidegate_front_${library} SHARED forwards_only.cpp "${generated}/${library}.def")
  set_target_properties(tidegate_front_${library} PROPERTIES OUTPUT_NAME ${library})
  add_dependencies(tidegate_faces tidegate_front_${library})
endforeach()
set_target_properties(tidegate_front_cuda PROPERTIES OUTPUT_NAME nvcuda)

# In a folder of their own: beside a program they are its driver.
foreach(target IN ITEMS cuda nvml dxgi dxcore)
  set_target_properties(tidegate_front_${target} PROPERTIES PREFIX "" RUNTIME_OUTPUT_DIRECTORY
                                                                      "${PROJECT_BINARY_DIR}/bin/front")
endforeach()
