# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# SMR_VERSION: the version of all of softmr, which is in the file VERSION.

if(NOT SMR_VERSION)
  file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../VERSION" SMR_VERSION LIMIT_COUNT 1)
endif()
