# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# RDMA_CORE_SOURCE: the provider is compiled with the headers of that source (65 or newer), as in rdma-core's tree. It
# works with the libibverbs of that number only.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(STRINGS "${RDMA_CORE_SOURCE}/CMakeLists.txt" RDMA_CORE_NUMBER REGEX "^set\\(IBVERBS_PABI_VERSION \"[0-9]+\"\\)")
string(REGEX REPLACE "[^0-9]" "" RDMA_CORE_NUMBER "${RDMA_CORE_NUMBER}")
set(RDMA_CORE_NUMBER "${RDMA_CORE_NUMBER}" PARENT_SCOPE)

# What rdma-core's own build makes of its source
set(REAL "${CMAKE_CURRENT_BINARY_DIR}/real")
file(GLOB VERBS "${RDMA_CORE_SOURCE}/libibverbs/*.h" "${RDMA_CORE_SOURCE}/kernel-headers/rdma/ib_user_ioctl_verbs.h")
file(MAKE_DIRECTORY "${REAL}/infiniband" "${REAL}/kernel-abi")
foreach(HEADER ${VERBS})
  get_filename_component(NAME "${HEADER}" NAME)
  file(CREATE_LINK "${HEADER}" "${REAL}/infiniband/${NAME}" SYMBOLIC)
endforeach()
foreach(HEADER "${RDMA_CORE_SOURCE}/kernel-headers/rdma/ib_user_verbs.h" "${SMR_UAPI_DIR}/softmr-abi.h")
  get_filename_component(NAME "${HEADER}" NAME)
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${RDMA_CORE_SOURCE}/buildlib/make_abi_structs.py"
    "${HEADER}" "${REAL}/kernel-abi/${NAME}")
endforeach()
file(WRITE "${REAL}/config.h" "#define SIZEOF_LONG __SIZEOF_LONG__\n#define HAVE_FUNC_ATTRIBUTE_ALWAYS_INLINE 1\n")

target_include_directories(softmr-ibverbs SYSTEM INTERFACE
  "${REAL}" "${RDMA_CORE_SOURCE}" "${RDMA_CORE_SOURCE}/kernel-headers")
target_compile_definitions(softmr-ibverbs INTERFACE "IBVERBS_PABI_VERSION=${RDMA_CORE_NUMBER}")
target_compile_options(softmr-ibverbs INTERFACE -include "${CMAKE_CURRENT_SOURCE_DIR}/real.h")
target_compile_definitions(ibverbs-stub PRIVATE "REGISTRAR=verbs_register_driver_${RDMA_CORE_NUMBER}")
