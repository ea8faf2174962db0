# Windows programs on Linux: mingw-w64's g++ with POSIX threads; what is built runs under Wine, without a display.
#
# Third parties are the build machine's header-only ones (cmake/TidegateDependencies.cmake links to them one by one, so
# that no other header of the build machine is seen).

set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(triplet x86_64-w64-mingw32)
set(CMAKE_C_COMPILER "${triplet}-gcc-posix")
set(CMAKE_CXX_COMPILER "${triplet}-g++-posix")
set(CMAKE_RC_COMPILER "${triplet}-windres")

set(CMAKE_FIND_ROOT_PATH "/usr/${triplet}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# One file each: no libstdc++-6.dll beside it.
foreach(kind IN ITEMS EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-static")
endforeach()

# Debian keeps it out of PATH. Without Wine everything still builds.
find_program(TIDEGATE_WINE wine64 PATHS /usr/lib/wine)
if(TIDEGATE_WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${TIDEGATE_WINE}")
endif()
