#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: rdma-core's own suite (pyverbs), of the newest release
# bed: uml
# foreign: rdma-core/build/python
# get: github.com/linux-rdma/rdma-core in DIR/rdma-core: add the provider (scripts/export rdma-core DIR/rdma-core) with the module's driver id in place of RDMA_DRIVER_SOFTMR (SMR_DRIVER_ID of kernel/uapi), then build.sh
# timeout: 1200
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

SOURCE=$FOREIGN/rdma-core
export LD_LIBRARY_PATH=$SOURCE/build/lib PYTHONPATH=$SOURCE/build/python

device_up
says "$(sed -nE 's/^set\(PACKAGE_VERSION "([0-9.]+)"\)/\1/p' "$SOURCE/CMakeLists.txt")"
pyverbs_suite "$SOURCE/tests"
finish
