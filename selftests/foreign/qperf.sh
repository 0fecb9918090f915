#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: qperf, all of its tests of RDMA
# bed: uml
# packages: qperf
# timeout: 400
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# measured TEST: it prints a figure. -cm 1: connect by rdma_cm
measured() {
	limited 20 qperf -lp "$PORT" -t 1 -cm 1 -li "$DEV:1" -ri "$DEV:1" "$ADDR" "$1" >"$WORK/out" 2>&1 &&
		grep -qE '(bw|latency|msg_rate) += +[0-9.]*[1-9]' "$WORK/out"
}

# one TEST. What cannot use rdma_cm addresses its peer by LID, without a GID
one() {
	local status=0
	measured "$1" || status=$?
	if [ "$status" != 0 ] && grep -qE 'warning: -cm.* set but not used' "$WORK/out"; then
		skip "$1" "qperf knows no GIDs, and does not use rdma_cm in this test"
	else
		report "$status" "$1"
	fi
}

device_up
says "$(dpkg-query -W -f '${Version}' qperf)"
qperf -lp "$PORT" >"$WORK/server" 2>&1 &
on_exit kill $!
nap 1
for test in rc_bi_bw rc_bw rc_lat rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat rc_rdma_write_poll_lat; do
	one "$test"
done
if ! iwarp; then
	for test in rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add uc_bi_bw uc_bw uc_lat uc_rdma_write_bw \
		uc_rdma_write_lat uc_rdma_write_poll_lat ud_bi_bw ud_bw ud_lat; do
		one "$test"
	done
fi
finish
