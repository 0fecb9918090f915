#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# beds: qemu-newest uml-checked qemu-stable qemu-oldest qemu-rt qemu-race uml
# timeout: 200
#
# perftest's programs for Ethernet frames, between two network namespaces; and the link, the netdev, the namespace are
# removed while they run
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"

# Each side sends to the other's netdev
macs() {
	MAC_S=$(in_ns "${SIDE_NS[server]}" cat /sys/class/net/veth0/address) &&
		MAC_C=$(in_ns "${SIDE_NS[client]}" cat /sys/class/net/veth0/address)
}

# server PROGRAM OPTION...: these programs do not talk to each other, so the server's output shows when its rule exists
server() {
	start server job 60 "${SIDE_NS[server]}" stdbuf -oL "$1" --server -d "${SIDE_DEV[server]}" -B "$MAC_S" \
		-E "$MAC_C" "${@:2}"
	SERVER=$BASE
	within 20 grep -qs 'MAC attached' "$SERVER.out" && return
	echo "the server does not come up:"
	cat "$SERVER.out"
	return 1
}

# ran BASE: the program has run to its end. On a busy machine the programs may fail to measure the clock, and report
# nothing
ran() {
	[ "$(<"$1.rc")" = 0 ] || grep -qE 'Correlation coefficient|Conflicting CPU frequency' "$1.out" && return
	cat "$1.out"
	return 1
}

client() {
	run client 60 "$1" --client -d "${SIDE_DEV[client]}" -B "$MAC_C" -E "$MAC_S" "${@:2}" || ran "$BASE"
}

# frames PROGRAM OPTION...
frames() {
	server "$@" && client "$@" || return
	within 20 ended "$SERVER" && ran "$SERVER" && return
	echo "the server has not got all of it"
	return 1
}

programs() {
	local ip=(-J 10.1.0.1 -j 10.1.0.2 -K 4000 -k 4001)
	check "bandwidth" frames raw_ethernet_bw -s 1000 -n 500
	check "bandwidth, UDP over IPv4" frames raw_ethernet_bw -s 1500 -n 500 "${ip[@]}"
	check "bandwidth, TCP over IPv4" frames raw_ethernet_bw -s 500 -n 500 --tcp "${ip[@]}"
	check "latency" frames raw_ethernet_lat -s 64 -n 100
	check "latency, UDP over IPv4" frames raw_ethernet_lat -s 1000 -n 100 "${ip[@]}"
}

limited() { timeout -k 2 30 "$@"; }
take_link() { limited rdma link del "${SIDE_DEV[server]}"; }
take_netdev() { limited ip -n "$NS" link del veth0; }
take_netns() { limited ip netns del "$NS"; }
take_netdev_away() { limited ip -n "$NS" link set veth0 netns 1 && ip link del veth0; }
no_link() { ! rdma link show "$1/1" >/dev/null 2>&1; }

# Programs that still run (perftest ignores events) must exit on a signal
end_side() {
	ended "$2" || stop "$1" "$2"
	within 10 ended "$2" && return
	stop "$1" "$2" KILL
	echo "the $1 cannot be ended"
	return 1
}

# round HOW: while frames arrive, with rules on both sides. Processes stay in the test's namespace, so that only the
# link keeps the other one
round() {
	local clientbase status=0
	topology_veth 1500 && macs || return
	NS=${SIDE_NS[server]}
	SIDE_NS[server]='' SIDE_NS[client]=''
	server raw_ethernet_bw -s 1000 -D 60 || return
	start client job 60 "" raw_ethernet_bw --client -d "${SIDE_DEV[client]}" -B "$MAC_C" -E "$MAC_S" -s 1000 -D 60
	clientbase=$BASE
	nap 0.3
	"take_$1" || { echo "take_$1 failed"; status=1; }
	within 10 no_link "${SIDE_DEV[server]}" || { echo "the link is still there"; status=1; }
	end_side server "$SERVER" && end_side client "$clientbase" || status=1
	topology_down
	return "$status"
}

if topology_veth 1500 && macs; then
	programs
	topology_down
else
	not_ok "links on a veth pair"
fi
for how in link netdev netdev_away netns; do
	check "the $how goes while frames come" round "$how"
done
if topology_veth 1500 && macs; then
	check "all is well again" frames raw_ethernet_bw -s 1000 -n 500
	topology_down
fi
finish
