#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: SMC-R: sockets between two namespaces, each byte compared, not by TCP
# group: kernel
# bed: qemu
# packages: python3
# timeout: 300
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# The exit status of a client whose connection has fallen back to TCP. SMC's handshake of a first connection times out now
# and then, on rdma_rxe, too. Once one has succeeded the others share its QP
FELL_BACK=3
TRIES=10

# By version 2 of SMC-R, which RoCEv2 needs, two ends that have no EID in common fall back
add_eid() { python3 "$LIB/smc_netlink.py" SOFTMR; }

# connection BYTES: from the client to the server and back, and the client compares
connection() {
	local status=0 base
	PORT=$((PORT + 1))
	start server server_job "$PORT" 60 "${SIDE_NS[server]}" \
		python3 "$LIB/smc_echo.py" server "${SIDE_V4[server]}" "$PORT" "$1"
	base=$BASE
	within 20 ready_or_ended "$base"
	run client 60 python3 "$LIB/smc_echo.py" client "${SIDE_V4[server]}" "$PORT" "$1" || status=$?
	within 5 ended "$base" || stop server "$base"
	cat "$BASE.out" "$base.out"
	return "$status"
}

# there_and_back BYTES
there_and_back() {
	local tries=0 status=$FELL_BACK
	while [ "$status" = "$FELL_BACK" ] && [ "$tries" -lt "$TRIES" ]; do
		status=0 tries=$((tries + 1))
		connection "$1" || status=$?
	done
	diag "tries with $1 bytes: $tries of at most $TRIES" >&"$LOG"
	return "$status"
}

skip_iwarp "SMC-R has no iWARP"
need_link_type "$LINK_TYPE"
modprobe -q smc || skip_all "this kernel has no SMC; that of -b uml -f ulps has"
on_exit modprobe -r smc
says "$(uname -r)"
setup_ok "an EID" add_eid || finish
# SMC takes the device of the netdev that leads to the peer. To an address of the same namespace that is lo
try_veth 1500 || finish
for side in server client; do
	setup_ok "the $side's GID" wait_gid_index "${SIDE_DEV[$side]}" "${SIDE_V4[$side]}"
done
[ -z "$LOSS" ] || setup_ok "$LOSS % of the packets are lost" lossy veth0 "${SIDE_NS[client]}"
for size in 1 4096 1048576 16777216; do check "$size bytes there and back" there_and_back "$size"; done
finish
