#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: ucx_perftest and ucx_info: UCP and UCT on rc_verbs and ud_verbs
# bed: uml
# packages: ucx-utils openmpi-bin
# timeout: 1200
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"
# shellcheck source=selftests/lib/foreign_mpi.sh
. "$LIB/foreign_mpi.sh"

export UCX_NET_DEVICES=$DEV:1 UCX_IB_GID_INDEX=auto UCX_WARN_UNUSED_ENV_VARS=n

# with_mpi: ucx_perftest is built with MPI, as Debian does; then mpirun starts both processes, else they are server and client
with_mpi() { ldd "$(command -v ucx_perftest)" | grep -q libmpi; }

# judged STATUS WHAT: $WORK/out has the output; a transport need not have every operation
judged() {
	local why
	why=$(grep -oE "does not support .*|Message size .* is larger than max supported.*" "$WORK/out" | head -n 1)
	if [ "$1" != 0 ] && [ -n "$why" ]; then skip "$2" "the transport $why"; else report "$1" "$2"; fi
}

# perf WHAT ARGUMENT...
perf() {
	if with_mpi; then
		# MPI is there to bring them together only: its own messages go by shared memory
		limited 40 "$MPIRUN" --np 2 --map-by :OVERSUBSCRIBE --bind-to none --mca pml ob1 --mca btl self,sm \
			ucx_perftest "${@:2}" >"$WORK/out" 2>&1
		judged $? "$1"
		return
	fi
	PORT=$((PORT + 1))
	both "$1" 40 "$PORT" ucx_perftest -p "$PORT" "${@:2}" -- ucx_perftest -p "$PORT" "${@:2}" "$ADDR"
}

lists() { ucx_info -d | tee "$WORK/info" && grep -q "Device: $DEV:1" "$WORK/info"; }

# uct TRANSPORT
uct() {
	local test layout tests="am_lat am_bw"
	[ "$1" != rc_verbs ] || tests+=" put_lat put_bw"
	for test in $tests; do
		for layout in short bcopy zcopy; do
			perf "uct $1 $test $layout" -x "$1" -d "$DEV:1" -t "$test" -D "$layout" -s 32 -n 2000
		done
	done
	[ "$1" = rc_verbs ] || return
	for layout in bcopy zcopy; do perf "uct $1 get $layout" -x "$1" -d "$DEV:1" -t get -D "$layout" -s 4096 -n 1000; done
	for test in add_lat add_mr fadd swap cswap; do perf "uct $1 $test" -x "$1" -d "$DEV:1" -t "$test" -s 8 -n 1000; done
}

# ucp TRANSPORTS
ucp() {
	local test size
	for test in tag_lat tag_bw tag_sync_lat ucp_put_lat ucp_put_bw ucp_get ucp_am_lat ucp_am_bw stream_bw stream_lat; do
		for size in 8 4096 262144; do perf "ucp $1 $test $size" -t "$test" -s "$size" -n 500; done
	done
	for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do perf "ucp $1 $test" -t "$test" -s 8 -n 500; done
}

skip_iwarp "UCX has no transport on iWARP"
device_up
says "$(ucx_info -v | sed -nE 's/^# *(Library )?[Vv]ersion:? *//p' | head -n 1)"
check "ucx_info -d" lists
uct rc_verbs
uct ud_verbs
export UCX_TLS=rc_v
ucp rc_v
UCX_TLS=ud_v
ucp ud_v
finish
