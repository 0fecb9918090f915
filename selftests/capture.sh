#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: uml-kasan qemu-7.2
# nodes: 1
# timeout: 120
#
# What goes over the wire is well-formed RoCEv2, by the eyes of a program that knows nothing of softmr
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
have tcpdump || skip_all "no tcpdump"
have python3 || skip_all "no python3"
MTU=1500
topology_veth "$MTU" || { not_ok "links on a veth pair"; finish; }
# Everything as it would be on a cable: no super-packets, checksums filled in
for side in server client; do
	in_ns "${SIDE_NS[$side]}" ethtool -K veth0 tx-udp-segmentation off tx off gro off >/dev/null
done

# The file has grown, and does so no more
all_written() {
	local before
	before=$(stat -c %s "$WORK/pcap")
	nap 0.5
	[ "$before" -gt 100 ] && [ "$(stat -c %s "$WORK/pcap")" = "$before" ]
}

# capture_once COMMAND...: with its packets in $WORK/pcap; 2 when some of them are missing there
capture_once() {
	local tcpdump status
	# not by in_ns: the process to end is tcpdump itself
	ip netns exec "${SIDE_NS[server]}" tcpdump --immediate-mode -i veth0 -n -s 1600 -B 32768 -U -Z root -w "$WORK/pcap" udp port 4791 2>"$WORK/tcpdump" &
	tcpdump=$!
	within 10 grep -q 'listening on' "$WORK/tcpdump" || { cat "$WORK/tcpdump"; kill "$tcpdump"; return 1; }
	"$@"
	status=$?
	within 20 all_written
	kill "$tcpdump"
	wait "$tcpdump"
	cat "$WORK/tcpdump"
	! grep -q '^[1-9][0-9]* packets dropped by kernel' "$WORK/tcpdump" || status=2
	return "$status"
}

# capture COMMAND...: a slow machine may have to try more than once to see all packets
capture() {
	local try status
	for try in 1 2 3 4 5; do
		status=0
		capture_once "$@" || status=$?
		[ "$status" = 2 ] || break
		echo "try $try missed packets"
	done
	return "$status"
}

# well_formed OPCODE...: all packets are, and there are some of each opcode
well_formed() { python3 "$LIB/rocecheck.py" "$WORK/pcap" "$MTU" "$@"; }

for family in v4 v6; do
	check "$family: capture SENDs" capture pingpong server client "$family" -s 20001 -n 5
	check "$family: well-formed" well_formed SEND_FIRST SEND_MIDDLE SEND_LAST ACK
	check "$family: capture WRITEs" capture perftest server client "$family" 65536 ib_write_bw -s 65536 -n 20
	check "$family: well-formed" well_formed WRITE_FIRST WRITE_MIDDLE WRITE_LAST ACK
	check "$family: capture READs" capture perftest server client "$family" 65537 ib_read_bw -s 65537 -n 20
	check "$family: well-formed" well_formed READ_REQUEST READ_RESP_FIRST READ_RESP_MIDDLE READ_RESP_LAST
	check "$family: capture atomics" capture perftest server client "$family" 8 ib_atomic_bw -n 20
	check "$family: well-formed" well_formed FETCH_ADD ATOMIC_ACK
done
finish
