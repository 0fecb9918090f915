#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 60
#
# The port's counters, in sysfs and in the answer of the performance management agent: they count the packets of the
# port, in words of four octets, and nothing else
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"

port_counter() { port_attr "$1" "counters/$2"; }

# sample DEVICE: sets XMIT, RCVD (words), XMIT_PACKETS and RCVD_PACKETS
sample() {
	XMIT=$(port_counter "$1" port_xmit_data) RCVD=$(port_counter "$1" port_rcv_data)
	XMIT_PACKETS=$(port_counter "$1" port_xmit_packets) RCVD_PACKETS=$(port_counter "$1" port_rcv_packets)
}

# between BYTES WORDS: BYTES of payload, with the headers of their packets, take WORDS
between() {
	echo "$2 words for $1 bytes"
	[ "$2" -ge $(($1 / 4)) ] && [ "$2" -le $(($1 * 3 / 10)) ]
}

# 200 messages of 5000 bytes each way, by packets of 1024
counts() {
	local dev=${SIDE_DEV[server]} xmit rcvd xmit_packets rcvd_packets
	sample "$dev"
	xmit=$XMIT rcvd=$RCVD xmit_packets=$XMIT_PACKETS rcvd_packets=$RCVD_PACKETS
	pingpong server client v4 -s 5000 -n 200 -m 1024 -c || return
	sample "$dev"
	between $((200 * 5000)) $((XMIT - xmit)) && between $((200 * 5000)) $((RCVD - rcvd)) || return
	# five packets for each message, and no more acknowledges than messages
	xmit=$((XMIT_PACKETS - xmit_packets)) rcvd=$((RCVD_PACKETS - rcvd_packets))
	echo "packets: $xmit and $rcvd"
	[ "$xmit" -ge 1000 ] && [ "$xmit" -le 1300 ] && [ "$rcvd" -ge 1000 ] && [ "$rcvd" -le 1300 ]
}

as_the_device_says() {
	local dev=${SIDE_DEV[server]}
	sample "$dev"
	is "$XMIT" $(($(counter "$dev" tx_bytes) / 4)) && is "$RCVD" $(($(counter "$dev" rx_bytes) / 4)) &&
		is "$XMIT_PACKETS" "$(counter "$dev" tx_packets)" && is "$RCVD_PACKETS" "$(counter "$dev" rx_packets)"
}

# Messages that stay on the host are not counted
nothing() {
	local dev=${SIDE_DEV[server]}
	sample "$dev"
	local xmit=$XMIT rcvd=$RCVD
	pingpong server client v4 -s 5000 -n 50 -c || return
	sample "$dev"
	is "$XMIT $RCVD" "$xmit $rcvd" && [ "$(counter "$dev" local_ops)" -gt 0 ]
}

downs_are() { is "$(port_counter "$1" link_downed)" "$2"; }

if try_veth 1500; then
	dev=${SIDE_DEV[server]}
	check "packets: data, words, both directions" counts
	check "the agent reports the device's own counters" as_the_device_says
	check "no error" is "$(port_counter "$dev" port_rcv_errors)" 0
	check "the link has not been down" downs_are "$dev" 0
	for n in 1 2; do
		ip -n "${SIDE_NS[client]}" link set veth0 down
		check "down: counted" within 5 downs_are "$dev" "$n"
		ip -n "${SIDE_NS[client]}" link set veth0 up
		within 5 link_is_up "$dev"
	done
	topology_down
fi
if [ "$LINK_TYPE" = softmr ] && topology_host Y; then
	check "same-host shortcut: nothing" nothing
	topology_down
fi
finish
