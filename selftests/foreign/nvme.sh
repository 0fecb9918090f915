#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: NVMe over RDMA: the kernel's target and host; fio writes and verifies
# group: kernel
# bed: uml
# packages: fio
# timeout: 400
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/nvme.sh
. "$LIB/nvme.sh"

verified() { fio_verified "$DISK" 8 "$@"; }

device_up
nvme_have || skip_all "this kernel has no NVMe over RDMA"
lockdep_off # for the target
says "$(uname -r)"
setup_ok "the target has a disk" target_up || finish
on_exit target_down
setup_ok "the target listens" port_up v4 "$ADDR" || finish
on_exit port_down
for round in 1 2; do
	setup_ok "connect ($round)" connect "$ADDR" || continue
	for size in 4k 64k 1m; do
		for depth in 1 16; do
			check "fio, $size, depth $depth: write, read, verify ($round)" verified "$size" "$depth"
		done
	done
	setup_ok "disconnect ($round)" disconnect
done
finish
