#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: SMC-R: sockets of the family AF_SMC between two processes, each byte compared
# bed: qemu
# packages: python3
# timeout: 200
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

skip_iwarp "SMC-R has no iWARP"
device_up
modprobe -q smc || skip_all "this kernel has no SMC"
says "$(uname -r)"
for size in 1 4096 1048576 16777216; do
	PORT=$((PORT + 1))
	both "$size bytes there and back" 60 "$PORT" python3 "$LIB/smc_echo.py" server "$ADDR" "$PORT" "$size" -- \
		python3 "$LIB/smc_echo.py" client "$ADDR" "$PORT" "$size" "$DEV"
done
finish
