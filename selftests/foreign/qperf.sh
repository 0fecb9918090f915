#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: qperf, all of its tests of RDMA
# bed: uml
# packages: qperf
# timeout: 400
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# measured TEST OPTION...: it prints a figure
measured() {
	limited 20 qperf -lp "$PORT" -t 1 "${@:2}" -li "$DEV:1" -ri "$DEV:1" "$ADDR" "$1" | tee "$WORK/qperf" &&
		grep -qE '(bw|latency|msg_rate) += +[0-9.]*[1-9]' "$WORK/qperf"
}

one() { check "$*" measured "$@"; }

device_up
says "$(dpkg-query -W -f '${Version}' qperf)"
qperf -lp "$PORT" >"$WORK/server" 2>&1 &
on_exit kill $!
nap 1
# -cm 1: connect by rdma_cm, which iWARP needs
ways=("-cm 1")
iwarp || ways+=("-cm 0")
for way in "${ways[@]}"; do
	for test in rc_bi_bw rc_bw rc_lat rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat \
		rc_rdma_write_poll_lat; do
		# shellcheck disable=SC2086 # two words
		one "$test" $way
	done
done
if ! iwarp; then
	for test in rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add uc_bi_bw uc_bw uc_lat uc_rdma_write_bw \
		uc_rdma_write_lat uc_rdma_write_poll_lat ud_bi_bw ud_bw ud_lat xrc_bi_bw xrc_bw xrc_lat; do
		one "$test" -cm 0
	done
fi
for test in rds_bw rds_lat; do skip "$test" "the suite rds has these sockets"; done
finish
