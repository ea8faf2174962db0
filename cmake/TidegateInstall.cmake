include(CMakePackageConfigHelpers)

install(TARGETS tidegate_static tidegate_shared tidegate_sim EXPORT tidegate
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(TARGET tidegate_cli)
  install(TARGETS tidegate_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
# The driver's face, in a folder of its own: beside other programs and libraries it would be everybody's driver.
set(front_dir "${CMAKE_INSTALL_LIBDIR}/tidegate")
if(TARGET tidegate_faces AND WIN32)
  install(TARGETS tidegate_front_cuda tidegate_front_nvml tidegate_front_dxgi tidegate_front_dxcore
          RUNTIME DESTINATION "${front_dir}")
elseif(TARGET tidegate_faces)
  install(TARGETS tidegate_front tidegate_front_cuda tidegate_front_nvml LIBRARY DESTINATION "${front_dir}")
  install(
    CODE "foreach(name libcuda libnvidia-ml)
  file(CREATE_LINK \"\${name}.so.1\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${front_dir}/\${name}.so\" SYMBOLIC)
endforeach()")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tidegate")
install(EXPORT tidegate NAMESPACE tidegate:: FILE tidegate-targets.cmake DESTINATION "${package_dir}")
file(WRITE "${PROJECT_BINARY_DIR}/generated/tidegate-config.cmake"
     "include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(\"\${CMAKE_CURRENT_LIST_DIR}/tidegate-targets.cmake\")
")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/tidegate-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/tidegate-config.cmake"
              "${PROJECT_BINARY_DIR}/generated/tidegate-config-version.cmake"
        DESTINATION "${package_dir}")
