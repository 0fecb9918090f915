#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A link-local address is valid on one wire only. Two wires have the same addresses at their ends: a connection over one
# of them accepts no packet from the other one.
#
#     here  one0  fe80::1 ----------- fe80::2  one0  peer
#           two0  fe80::1 ----------- fe80::2  two0
#           veth0 10.1.0.1 --------- 10.1.0.2  veth0   (TCP of the programs)
#
# timeout: 60
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "${0%/*}/lib/test.sh"

need_link_type "$LINK_TYPE"
HERE=$(node_name here) THERE=$(node_name there) PEER=$(node_name peer)

# wire NETDEV: a wire between us and $PEER; both ends have the same name, and the same addresses on each wire
wire() {
	ip link add "$1" type veth peer name "$1" netns "$PEER" || return
	on_exit ip link del "$1"
	ip link set "$1" addrgenmode none up
	ip -n "$PEER" link set "$1" addrgenmode none up
	ip addr add fe80::1/64 dev "$1" nodad
	ip -n "$PEER" addr add fe80::2/64 dev "$1" nodad
}

gids() { gid_index "$HERE" fe80::1 && gid_index "$THERE" fe80::2; } >"$WORK/gids"

# pingpong: a server here; there, a client that talks to it by TCP over a third wire
pingpong() {
	timeout 20 ibv_rc_pingpong -d "$HERE" -g "$(gid_index "$HERE" fe80::1)" -n 10 >"$WORK/server" 2>&1 &
	local server=$!
	within 10 listening || return
	timeout 10 ip netns exec "$PEER" ibv_rc_pingpong -d "$THERE" -g "$(gid_index "$THERE" fe80::2)" -n 10 10.1.0.1 \
		>"$WORK/client" 2>&1
	local status=$?
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	return "$status"
}

not() { ! "$@"; }

listening() { [ -n "$(ss -Hltn sport = :18515)" ]; }

wires() { ns_add "$PEER" && veth_add "" "$PEER" 1500 && wire one0 && wire two0; }

wires || not_ok "wires"

check "a link here" link_add "$HERE" one0
check "a link at the other end of the same wire" link_add "$THERE" one0 "$PEER"
within 10 gids
check "they talk" pingpong
link_del "$THERE" "$PEER"

check "a link at the end of the other wire" link_add "$THERE" two0 "$PEER"
within 10 gids
dropped=$(counter "$HERE" rx_wrong_source) answered=$(counter "$HERE" acks_tx)
check "it is nobody's peer" not pingpong
check "its packets are dropped" [ "$(counter "$HERE" rx_wrong_source)" -gt "$dropped" ]
check "and none is answered" is "$(counter "$HERE" acks_tx)" "$answered"
finish
