#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 180
#
# QPs that wait for a slow netdev: each is woken for space that it can use, and ACKs do not wait behind them
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
for module in sch_tbf sch_prio cls_u32; do modprobe "$module" 2>/dev/null; done

# With an MTU of 9000 a QP has 512 KiB in flight at first, and the stack takes 512 KiB of it, headers included
MANY=32

# slow RATE: RDMA WRITEs of the client are sent at RATE; all other packets pass them. The opcode in the BTH identifies
# the WRITEs
slow() {
	local ns=${SIDE_NS[client]} opcode
	tc -n "$ns" qdisc add dev veth0 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 &&
		tc -n "$ns" qdisc add dev veth0 parent 1:2 handle 20: tbf rate "$1" burst 128k limit 100m || return
	for opcode in 0x06 0x07 0x08 0x0a; do
		tc -n "$ns" filter add dev veth0 parent 1: protocol ip prio 1 u32 match ip protocol 17 0xff \
			match ip dport 4791 0xffff match u8 "$opcode" 0xff at 28 flowid 1:2 || return
	done
}

fast() { tc -n "${SIDE_NS[client]}" qdisc del dev veth0 root; }

waits() { [ "$(counter "${SIDE_DEV[client]}" tx_backpressure)" -gt 0 ]; }

# A QP is woken when half of its budget is free, which is four trains of 64 KiB. It also looks for room when an answer comes
few_waits() {
	local before after bytes
	slow 40mbit || return
	before=$(counter "${SIDE_DEV[client]}" tx_backpressure) bytes=$(counter "${SIDE_DEV[client]}" tx_bytes)
	perftest server client v4 65536 ib_write_bw -q "$MANY" -s 65536 -n 20 -t 20 -u 22 || return
	after=$(counter "${SIDE_DEV[client]}" tx_backpressure) bytes=$(($(counter "${SIDE_DEV[client]}" tx_bytes) - bytes))
	fast || return
	echo "$((bytes >> 16)) trains, $((after - before)) waits"
	[ "$after" -gt "$before" ] && [ $(((after - before) << 16)) -lt $((2 * bytes)) ]
}

# Bulk is not sent at all. A message from the other side is acknowledged, also by a QP that is then destroyed at once
stuck() {
	slow 8kbit && traffic server client ib_write_bw -q "$MANY" -s 65536 -t 16 -D 60 -u 22 && within 20 waits
}

acknowledged() {
	local n
	perftest client server v4 64 ib_send_bw -s 64 -n 1000 -u 14 || return
	for ((n = 0; n < 4; n++)); do perftest client server v4 64 ib_send_bw -s 64 -n 5 -u 14 || return; done
}

try_veth 9000 || finish
check "$MANY QPs wait for room, and each wake-up counts" few_waits
check "bulk is stuck" stuck
check "what is acknowledged does not wait behind it" acknowledged
stop client "$CLIENT" KILL
stop server "$SERVER" KILL
fast
finish
