#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 540
#
# A network with a bottleneck that marks packets in its queue (RED with ECN). Without ECN it has to drop them. With each
# congestion control
#
#     srv: veth0 (10.1.0.1) ---- toserver < br0 :mid: br0 > toclient ---- veth0 (10.1.0.2) :cli
#                                tbf > prio > red           tbf > prio > red
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
modprobe -a sch_red sch_tbf sch_prio cls_u32 >/dev/null 2>&1
# Between the two sides: a bridge in a namespace of its own
MID=$(node_name mid)
# The bottlenecks, towards the server and towards the client
TO_SERVER=toserver TO_CLIENT=toclient
# Not more than a busy emulated machine can send
MIBPS=2

# wire NETNS NAME HOST: a side's netdev, whose other end is a port of the bridge
wire() {
	ip link add veth0 mtu 1500 netns "$1" type veth peer name "$2" mtu 1500 netns "$MID" &&
		ip -n "$MID" link set "$2" master br0 up && address "$1" veth0 "$3" &&
		in_ns "$1" ethtool -K veth0 tx-udp-segmentation off tx-checksum-ip-generic off >/dev/null
}

# narrow PORT: RoCEv2 packets are queued. Some are marked from 30 KB on, all from 90 KB on, and they are dropped at 1
# MB. Packets without ECT are dropped instead of marked. Other packets have a queue of their own, or nothing would get
# through
narrow() {
	local zeros
	printf -v zeros '0 %.0s' {1..16}
	# shellcheck disable=SC2086 # 16 words
	tc -n "$MID" qdisc add dev "$1" root handle 1: tbf rate $((MIBPS * 8))mibit burst 20kb limit 2mb &&
		tc -n "$MID" qdisc add dev "$1" parent 1:1 handle 10: prio bands 2 priomap $zeros &&
		tc -n "$MID" qdisc add dev "$1" parent 10:2 handle 20: red limit 1000000 min 30000 max 90000 avpkt 1000 \
			burst 55 bandwidth $((MIBPS * 8))mbit probability 0.1 ecn &&
		tc -n "$MID" filter add dev "$1" parent 10: protocol ip prio 1 u32 match ip dport 4791 0xffff flowid 10:2 &&
		tc -n "$MID" filter add dev "$1" parent 10: protocol ipv6 prio 2 u32 match ip6 dport 4791 0xffff flowid 10:2
}

# network [SERVER_TYPE CLIENT_TYPE]
network() {
	local sns cns stype=${1:-$LINK_TYPE} ctype=${2:-$LINK_TYPE}
	topology_begin
	sns=$(node_name srv) cns=$(node_name cli)
	ns_add "$MID" && ns_add "$sns" && ns_add "$cns" || return
	ip -n "$MID" link add br0 type bridge && ip -n "$MID" link set br0 up || return
	wire "$sns" "$TO_SERVER" 1 && wire "$cns" "$TO_CLIENT" 2 || return
	narrow "$TO_SERVER" && narrow "$TO_CLIENT" || return
	link_add "$(node_name s)" veth0 "$sns" "$stype" && link_add "$(node_name c)" veth0 "$cns" "$ctype" || return
	side server "$(node_name s)" "$sns" 10.1.0.1 fd01::1
	side client "$(node_name c)" "$cns" 10.1.0.2 fd01::2
}

# queue PORT: sets MARKED and DROPPED, counted since the queue was renewed
queue() {
	read -r MARKED DROPPED <<<"$(tc -n "$MID" -s qdisc show dev "$1" | awk '
		$1 == "qdisc" { red = $2 == "red" }
		red && /dropped/ { match($0, /dropped [0-9]+/); dropped = substr($0, RSTART + 8, RLENGTH - 8) }
		red && /marked/ { marked = $2 }
		END { print marked + 0, dropped + 0 }')"
}

# RED uses an average, which sinks only while packets arrive. The last measurement must not affect the packets of the
# next one
renew() {
	local port
	for port in "$TO_SERVER" "$TO_CLIENT"; do tc -n "$MID" qdisc del dev "$port" root && narrow "$port" || return; done
}

# measure PORT TCLASS FAMILY PROGRAM OPTION...: four seconds of it. Sets GOODPUT in KiB/s; MARKED and DROPPED, both by it.
# perftest counts its messages; the bandwidth that it computes from them is 0 if it cannot find out the processor's
# clock
measure() {
	local port=$1 tclass=$2 family=$3
	renew || return
	tool server client -x "$family" 60 "${@:4}" -F -s 65536 -q 2 -u 18 -D 6 -f 1 --tclass="$tclass" || return
	queue "$port"
	GOODPUT=$(awk '$1 == 65536 { print int($2 * 64 / 4) }' "$CLIENT_OUT")
	FIGURES+=("$4, tclass $tclass, $family: $GOODPUT KiB/s, $MARKED marked, $DROPPED dropped")
	echo "${FIGURES[-1]}"
	[ "${GOODPUT:-0}" -gt 0 ]
}

# without PORT PROGRAM: how much ECN can improve
without() {
	measure "$1" 0 v4 "$2" || return
	DROPS_BEFORE=$DROPPED GOODPUT_BEFORE=$GOODPUT
	[ "$MARKED" = 0 ] && [ "$DROPPED" -gt 20 ]
}

# with PORT FAMILY PROGRAM: hardly a drop (at most 1 in 50 of those without, from the first burst)
with() {
	measure "$1" 2 "$2" "$3" || return
	[ "$MARKED" -gt 20 ] && [ $((DROPPED * 50)) -le "$DROPS_BEFORE" ]
}

# gains PORT FAMILY PROGRAM: the same, and not less data. READs lose little data by drops
gains() { with "$@" && [ "$GOODPUT" -ge "$GOODPUT_BEFORE" ]; }

# grew SIDE COUNTER FROM
grew() {
	local now
	now=$(counter "${SIDE_DEV[$1]}" "$2")
	echo "$2 of the $1: $3, now $now"
	[ "$now" -gt "$3" ]
}

# told RECEIVER SENDER COUNTER: the receiver has sent CNPs for marks, the sender has got them
told() {
	grew "$1" np_ecn_marked_roce_packets 0 && grew "$1" np_cnp_sent 0 && grew "$2" "$3" 0
}

# with_rxe: rdma_rxe neither sends nor obeys CNPs; data arrives
with_rxe() {
	measure "$TO_SERVER" 2 v4 ib_write_bw && [ "$MARKED" -gt 0 ]
}

# control_set NAME: the congestion control of links that are made after that, which only softmr's have
control_set() { [ "$LINK_TYPE" != softmr ] || param_set congestion_control "$1"; }

for control in window dcqcn; do
	FIGURES=()
	if ! { control_set "$control" && network; } >"$WORK/network" 2>&1; then
		not_ok "$control: a narrow network" "$WORK/network"
		finish
	fi
	check "$control: WRITE without ECN" without "$TO_SERVER" ib_write_bw
	check "$control: WRITE with ECN" gains "$TO_SERVER" v4 ib_write_bw
	check "$control: the sender of WRITEs is told" told server client rp_cnp_handled
	check "$control: WRITE with ECN over IPv6" gains "$TO_SERVER" v6 ib_write_bw
	check "$control: READ without ECN" without "$TO_CLIENT" ib_read_bw
	check "$control: READ with ECN" with "$TO_CLIENT" v4 ib_read_bw
	# the server's QPs never reach RTS: they only answer
	check "$control: the sender of what was read is told" told client server rp_cnp_ignored
	topology_down
	diag "$(printf '%s\n' "${FIGURES[@]}")"
done
control_set window

# Older versions listen in the first namespace only, wherever the link is
rxe_listens() { in_ns "${SIDE_NS[$1]}" grep -q ':12B7 ' /proc/net/udp; }

# rxe_network SERVER_TYPE CLIENT_TYPE
rxe_network() {
	network "$@" || return
	if [ "$1" = rxe ]; then rxe_listens server; else rxe_listens client; fi
}

for types in "$LINK_TYPE rxe" "rxe $LINK_TYPE"; do
	if [ "$LINK_TYPE" = rxe ] || ! have_link_type rxe; then continue; fi
	# shellcheck disable=SC2086 # two words
	if ! rxe_network $types >"$WORK/network" 2>&1; then
		skip "rdma_rxe: $types" "no rdma_rxe in a namespace"
	else
		check "server and client $types: marks" with_rxe
		if [ "${types%% *}" != rxe ]; then
			check "rdma_rxe is sent CNPs, and drops them" grew server np_cnp_sent 0
		fi
	fi
	topology_down
done
finish
