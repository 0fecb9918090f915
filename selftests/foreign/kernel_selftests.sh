#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: the kernel's selftests/rdma, with the device's type for rxe
# bed: uml
# timeout: 400
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

skip_iwarp "they are about RoCE: UDP ports, tunnels, GIDs"
[ -z "$LOSS" ] || skip_all "they make their own links, which lose nothing"
says "$(uname -r)"
"$SELFTESTS/kernel_rdma.sh" >"$WORK/kernel"
tap_include "$WORK/kernel"
finish
