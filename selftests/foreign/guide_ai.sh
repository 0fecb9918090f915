#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: ai.rst: UCX, libfabric and Open MPI, each command as the page has it
# bed: uml
# packages: openmpi-bin python3-mpi4py ucx-utils libfabric-bin
# timeout: 600
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/guide.sh
. "$LIB/guide.sh"

guide_suite Documentation/ai.rst
