# tidegate_sources(<variable> <folder>): the folder's *.cpp for this platform, by the file name's last word:
# *_linux.cpp and *_posix.cpp are left out on Windows, *_windows.cpp elsewhere.
function(tidegate_sources variable folder)
  file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  if(WIN32)
    list(FILTER found EXCLUDE REGEX "_(linux|posix)\\.cpp$")
  else()
    list(FILTER found EXCLUDE REGEX "_windows\\.cpp$")
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()
