# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A toolchain file: clang and lld compile for another processor, with the
# headers and libraries of an unpacked system of that processor:
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=userspace/cmake/ClangCross.cmake
#         -DSMR_CROSS_TARGET=aarch64-linux-gnu -DCMAKE_SYSROOT=/path/to/root ...

# cmake's own checks read this file again, in separate projects.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SMR_CROSS_TARGET)

if(NOT SMR_CROSS_TARGET OR NOT CMAKE_SYSROOT)
  message(FATAL_ERROR "ClangCross.cmake needs -DSMR_CROSS_TARGET=TRIPLET, such "
    "as aarch64-linux-gnu, and -DCMAKE_SYSROOT=DIRECTORY, the root of an "
    "unpacked system of that processor")
endif()

set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${SMR_CROSS_TARGET}")
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET "${SMR_CROSS_TARGET}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-fuse-ld=lld")
# Debian's directory of libraries: cmake finds them there.
set(CMAKE_LIBRARY_ARCHITECTURE "${SMR_CROSS_TARGET}")

# pkg-config looks there, too, and names paths below it.
set(ENV{PKG_CONFIG_LIBDIR}
  "${CMAKE_SYSROOT}/usr/lib/${SMR_CROSS_TARGET}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")

# Programs are those of this machine; everything else is of the other one.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
