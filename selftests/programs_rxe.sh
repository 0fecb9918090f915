#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: qemu-newest uml-checked uml
# nodes: 1
# timeout: 400
#
# softmr and the kernel's rdma_rxe, each as server and as client, in all runs of ibv_rc_pingpong and perftest that the
# tests between two softmr devices have (interop_rxe.sh checks more, and is faster)
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$LIB/ctest.sh"

need_link_type "$LINK_TYPE"
need_link_type rxe

# Not with 0 bytes: rdma_rxe cannot register an MR of that length
pingpongs() {
	local family size
	for family in v4 v6; do
		for size in 1 4096 4097 65536 1048576; do
			check "$SMR_PATH, $family: $size bytes" pingpong server client "$family" -s "$size" -n 50 -c
		done
		check "$SMR_PATH, $family: events" pingpong server client "$family" -e -n 100 -c
	done
}

mark=${#TAP_CLEANUP[@]}
# the server is at the first end
for path in to_rxe from_rxe; do
	if devices_for "$path" >"$WORK/devices" 2>&1; then
		side server "$SMR_DEV" "" "$SMR_ADDR" "$SMR_ADDR6"
		side client "$SMR_DEV2" "$SMR_PEER_NETNS" "$SMR_PEER_ADDR" "$SMR_PEER_ADDR6"
		pingpongs
		perftest_sizes "$path" v4 ib_{send,write,read}_bw
		perftest_sizes "$path" v6 ib_{send,write,read}_lat
		perftest_all "$path" v4
		perftest_some "$path" v6
	else
		not_ok "$path: devices" "$WORK/devices"
	fi
	clean_up "$mark"
done
finish
