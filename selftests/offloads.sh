#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 60
#
# Whatever offloads the netdevs have, packets arrive in the order in which they were sent
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
have ethtool || skip_all "no ethtool"

# offloads FEATURE on|off...: at both ends. GRO holds joined packets for a while, as it does when packets arrive in
# bursts: later packets could overtake them
offloads() {
	local side
	for side in server client; do
		in_ns "${SIDE_NS[$side]}" ethtool -K veth0 "$@" &&
			in_ns "${SIDE_NS[$side]}" bash -c 'echo 1000000 >/sys/class/net/veth0/gro_flush_timeout' || return
	done
}

# No packet arrived out of order, at either end
in_order() {
	local side count
	for side in server client; do
		for count in out_of_sequence naks_tx; do
			is "$(counter "${SIDE_DEV[$side]}" "$count")" 0 || { echo "$side: $count"; return 1; }
		done
	done
}

# The last packet of a message is sent with others or alone: the messages have one packet more than fits into 64 KiB
# with headers. One message at a time, so that no queue overflows
for mtu in 1500 9000; do
	try_veth "$mtu" || continue
	for tx in "tx on tx-udp-segmentation on" "tx on tx-udp-segmentation off" "tx off tx-udp-segmentation off"; do
		what="MTU $mtu: $tx"
		# shellcheck disable=SC2086 # words are meant
		check "$what: set" offloads $tx gro on
		check "$what: IPv4" pingpong server client v4 -s 64512 -n 10 -c
		check "$what: IPv6" pingpong server client v6 -s 64512 -n 10 -c
		check "$what: 20000 bytes" pingpong server client v4 -s 20000 -n 10 -c
		if [ "$LINK_TYPE" = softmr ]; then check "$what: in order" in_order; fi
	done
	topology_down
done
finish
