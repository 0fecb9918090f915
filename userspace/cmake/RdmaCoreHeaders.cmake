# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What rdma-core's own build would make of its headers, without building it:
# a directory of links in the layout that its sources include by, its
# config.h, and the wrappers of kernel ABI structures.

include(CheckTypeSize)
include(CheckCSourceCompiles)

# Reads VAR from rdma-core's CMakeLists.txt, where it is set("value").
function(rdma_core_version SOURCE VAR)
  file(STRINGS "${SOURCE}/CMakeLists.txt" LINE
    REGEX "^set\\(${VAR} \"[0-9.]+\"\\)" LIMIT_COUNT 1)
  if(NOT LINE MATCHES "\"([0-9.]+)\"")
    message(FATAL_ERROR "${SOURCE}: cannot find ${VAR}")
  endif()
  set(${VAR} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

function(rdma_core_link_headers DEST)
  file(MAKE_DIRECTORY "${DEST}")
  foreach(HEADER ${ARGN})
    get_filename_component(NAME "${HEADER}" NAME)
    file(CREATE_LINK "${HEADER}" "${DEST}/${NAME}" SYMBOLIC)
  endforeach()
endfunction()

# Makes kernel-abi/NAME of HEADER, which DECLARE_DRV_CMD() wants.
function(rdma_core_abi_header HEADER)
  get_filename_component(NAME "${HEADER}" NAME)
  file(MAKE_DIRECTORY "${RDMA_CORE_INCLUDE}/kernel-abi")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${HEADER}")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}"
      "${RDMA_CORE_SOURCE}/buildlib/make_abi_structs.py"
      "${HEADER}" "${RDMA_CORE_INCLUDE}/kernel-abi/${NAME}"
    RESULT_VARIABLE FAILED)
  if(FAILED)
    message(FATAL_ERROR "Cannot make kernel-abi/${NAME}")
  endif()
endfunction()

# The compiler features that config.h of rdma-core tells of.
macro(rdma_core_check_features)
  check_type_size("long" SIZEOF_LONG BUILTIN_TYPES_ONLY LANGUAGE C)
  check_c_source_compiles("
    int f(void);
    inline __attribute__((always_inline)) int f(void) { return 0; }
    int main(void) { return f(); }" HAVE_FUNC_ATTRIBUTE_ALWAYS_INLINE)
  set(HAVE_FULL_SYMBOL_VERSIONS 1)
  set(HAVE_WORKING_IF_H 1)
  # ioctl(), and write() where the kernel is old
  set(IOCTL_MODE_NUM 3)
endmacro()

# Structures differ between releases that share a provider ABI, so the provider
# declines a libibverbs that is not of VERSION's layout. That is said here, not
# to the user.
function(rdma_core_check_installed VERSION FIRST END)
  get_filename_component(INSTALLED "${IBVERBS_LIBRARY}" REALPATH)
  string(REGEX MATCH "\\.([0-9]+)\\.[0-9]+$" RELEASE "${INSTALLED}")
  set(MAJOR "${CMAKE_MATCH_1}")
  if(RELEASE AND NOT MAJOR LESS FIRST AND MAJOR LESS END)
    return()
  endif()
  if(SMR_FOREIGN_LIBIBVERBS)
    message(STATUS "for rdma-core ${VERSION}, not for ${INSTALLED}")
    return()
  endif()
  message(FATAL_ERROR "RDMA_CORE_SOURCE is rdma-core ${VERSION}, but the "
    "libibverbs that is installed, ${INSTALLED}, was not built from it: the "
    "provider would decline to work with it. Give RDMA_CORE_SOURCE the source "
    "of the installed release ('apt-get source rdma-core'); or, to build for "
    "another machine, -DSMR_FOREIGN_LIBIBVERBS=ON.")
endfunction()

# Fills INCLUDE from SOURCE, which is to match IBVERBS_LIBRARY; sets
# RDMA_CORE_INCLUDE, RDMA_CORE_VERSION, IBVERBS_PABI_VERSION, and as
# SMR_RDMA_CORE_FIRST and _END the releases that will do.
function(rdma_core_headers SOURCE INCLUDE)
  if(NOT EXISTS "${SOURCE}/libibverbs/driver.h")
    message(FATAL_ERROR "RDMA_CORE_SOURCE must name an unpacked rdma-core "
      "source tree ('apt-get source rdma-core'), but is '${SOURCE}'")
  endif()

  set(RDMA_CORE_INCLUDE "${INCLUDE}")
  rdma_core_version("${SOURCE}" PACKAGE_VERSION)
  rdma_core_version("${SOURCE}" IBVERBS_PABI_VERSION)
  message(STATUS "rdma-core ${PACKAGE_VERSION}, "
    "provider ABI ${IBVERBS_PABI_VERSION}")

  rdma_core_layout("${PACKAGE_VERSION}" FIRST END)
  rdma_core_check_installed("${PACKAGE_VERSION}" "${FIRST}" "${END}")

  # Links of another release may have been left in a build directory.
  foreach(DIR infiniband util ccan rdma)
    file(REMOVE_RECURSE "${INCLUDE}/${DIR}")
  endforeach()
  file(GLOB VERBS_HEADERS "${SOURCE}/libibverbs/*.h")
  file(GLOB UTIL_HEADERS "${SOURCE}/util/*.h")
  file(GLOB CCAN_HEADERS "${SOURCE}/ccan/*.h")
  file(GLOB RDMA_HEADERS "${SOURCE}/kernel-headers/rdma/*.h")
  rdma_core_link_headers("${INCLUDE}/infiniband" ${VERBS_HEADERS}
    "${SOURCE}/kernel-headers/rdma/ib_user_ioctl_verbs.h")
  rdma_core_link_headers("${INCLUDE}/util" ${UTIL_HEADERS})
  rdma_core_link_headers("${INCLUDE}/ccan" ${CCAN_HEADERS})
  rdma_core_link_headers("${INCLUDE}/rdma" ${RDMA_HEADERS})

  rdma_core_check_features()
  configure_file("${SOURCE}/buildlib/config.h.in" "${INCLUDE}/config.h"
    ESCAPE_QUOTES @ONLY)
  rdma_core_abi_header("${SOURCE}/kernel-headers/rdma/ib_user_verbs.h")

  set(SMR_RDMA_CORE_FIRST "${FIRST}" PARENT_SCOPE)
  set(SMR_RDMA_CORE_END "${END}" PARENT_SCOPE)
  set(RDMA_CORE_INCLUDE "${INCLUDE}" PARENT_SCOPE)
  set(RDMA_CORE_VERSION "${PACKAGE_VERSION}" PARENT_SCOPE)
  set(IBVERBS_PABI_VERSION "${IBVERBS_PABI_VERSION}" PARENT_SCOPE)
endfunction()
