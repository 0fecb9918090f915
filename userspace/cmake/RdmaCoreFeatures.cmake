# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What differs between releases of rdma-core. Each difference is probed in the
# headers and becomes a macro SMR_HAVE_*. provider/compat.h looks at it; where
# older releases lack the very types, so do the functions that need them, and the
# table of operations in provider/device.c. The table of layouts at the end is the
# one thing that no probe can tell: which other releases a provider that is built
# here may be loaded by.

include(CheckCSourceCompiles)

# Compiles CODE behind the headers of rdma-core; the answer is not kept, as
# the same build directory may be given another RDMA_CORE_SOURCE.
function(rdma_core_probe VAR CODE)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  set(CMAKE_REQUIRED_INCLUDES "${RDMA_CORE_INCLUDE}")
  set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
  # Older compilers, gcc 12 among them, only warn of a function that is not declared.
  set(CMAKE_REQUIRED_FLAGS -Werror=implicit-function-declaration)
  unset(${VAR} CACHE)
  check_c_source_compiles("
    #include <config.h>
    #include <infiniband/driver.h>
    ${CODE}" ${VAR})
  set(${VAR} "${${VAR}}" PARENT_SCOPE)
endfunction()

# Sets RDMA_CORE_FEATURES to the macros of what the headers have.
function(rdma_core_features)
  rdma_core_probe(SMR_HEADERS_COMPILE "")
  if(NOT SMR_HEADERS_COMPILE)
    message(FATAL_ERROR "<infiniband/driver.h> of ${RDMA_CORE_SOURCE} does "
      "not compile; see CMakeFiles/CMakeError.log or CMakeConfigureLog.yaml")
  endif()

  rdma_core_probe(SMR_HAVE_ATOMIC_WRITE "
    void *f(struct ibv_qp_ex *qp) { return &qp->wr_atomic_write; }")
  rdma_core_probe(SMR_HAVE_FLUSH "
    void *f(struct ibv_qp_ex *qp) { return &qp->wr_flush; }")
  rdma_core_probe(SMR_HAVE_DMABUF_MR_DRIVER "
    int f(void) { return ibv_cmd_reg_dmabuf_mr(0, 0, 0, 0, 0, 0, 0, 0); }")
  rdma_core_probe(SMR_HAVE_GET_CONTEXT_FDS "
    int f(void) { return ibv_cmd_get_context(0, 0, 0, 0, 0, 0); }")
  rdma_core_probe(SMR_HAVE_DMAH "
    int f(void) { return ibv_cmd_alloc_dmah(0, 0, 0); }")
  rdma_core_probe(SMR_HAVE_CREATE_CQ_ATTR "
    int f(void) { return ibv_cmd_create_cq_ex(0, 0, 0, 0, 0, 0, 0, 0, 0); }")
  rdma_core_probe(SMR_HAVE_PORT_SPEED "
    int f(void) { return ibv_cmd_query_port_speed(0, 0, 0); }")
  rdma_core_probe(SMR_HAVE_DM_EXPORT "
    void *f(struct verbs_context_ops *ops) { return &ops->dm_export_dmabuf_fd; }")
  rdma_core_probe(SMR_HAVE_CREATE_QP_DRIVER "
    int f(void) { return ibv_cmd_create_qp_ex2(0, 0, 0, 0, 0, 0, 0, 0); }")
  rdma_core_probe(SMR_HAVE_COMP_CNTR "
    int f(void) { return ibv_cmd_destroy_comp_cntr(0); }")

  set(FEATURES)
  foreach(FEATURE ATOMIC_WRITE FLUSH DMABUF_MR_DRIVER GET_CONTEXT_FDS
      DMAH CREATE_CQ_ATTR PORT_SPEED DM_EXPORT CREATE_QP_DRIVER COMP_CNTR)
    if(SMR_HAVE_${FEATURE})
      list(APPEND FEATURES "SMR_HAVE_${FEATURE}")
    endif()
  endforeach()
  set(RDMA_CORE_FEATURES "${FEATURES}" PARENT_SCOPE)
endfunction()

# The first release of each layout of what libibverbs and a provider share:
# the structures of driver.h and verbs.h that both look into, and the arguments
# of the functions that providers call. Within a number all stable releases
# (44.0 to 44.12, say) are alike. tests/layout.c prints what was compared, and
# Documentation/rdma-core.rst says what changed.
#
# A release that is newer than the table is taken to be like no other one.
set(RDMA_CORE_LAYOUTS 39 44 45 54 57 59 62 64 65)

# Sets FIRST and END: a provider that is built from release VERSION fits
# FIRST and all up to, but not including, END.
function(rdma_core_layout VERSION FIRST END)
  string(REGEX MATCH "^[0-9]+" MAJOR "${VERSION}")
  set(BEGIN "${MAJOR}")
  math(EXPR NEXT "${MAJOR} + 1")
  list(GET RDMA_CORE_LAYOUTS 0 OLDEST)
  list(GET RDMA_CORE_LAYOUTS -1 NEWEST)
  if(MAJOR LESS OLDEST)
    message(FATAL_ERROR "rdma-core ${VERSION} is too old: softmr needs "
      "${OLDEST} or newer")
  endif()
  if(MAJOR LESS NEWEST)
    foreach(LAYOUT ${RDMA_CORE_LAYOUTS})
      if(LAYOUT LESS_EQUAL MAJOR)
        set(BEGIN "${LAYOUT}")
      else()
        set(NEXT "${LAYOUT}")
        break()
      endif()
    endforeach()
  endif()
  set(${FIRST} "${BEGIN}" PARENT_SCOPE)
  set(${END} "${NEXT}" PARENT_SCOPE)
endfunction()
