#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 120
#
# The packets on the wire are well-formed RoCEv2. Two programs that share no code with softmr check that: one that
# computes each checksum, and tshark
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
have tcpdump || skip_all "no tcpdump"
have python3 || skip_all "no python3"
have tshark || skip_all "no tshark"
TESTS=$(dirname "$LIB")

# links MTU: as on a cable: no GSO or GRO packets, checksums filled in
links() {
	local side
	MTU=$1
	try_veth "$MTU" || finish
	for side in server client; do
		in_ns "${SIDE_NS[$side]}" ethtool -K veth0 tx-udp-segmentation off tx off gro off >/dev/null
	done
}

# The file has grown, and no longer grows
all_written() {
	local before
	before=$(stat -c %s "$WORK/pcap")
	nap 0.5
	[ "$before" -gt 100 ] && [ "$(stat -c %s "$WORK/pcap")" = "$before" ]
}

# told WHAT: the number of packets that tcpdump reports as WHAT
told() { sed -nE "s/^([0-9]+) packets? $1\$/\1/p" "$WORK/tcpdump"; }

# capture_once COMMAND...: its packets go to $WORK/pcap; 2 if some of them are missing there
capture_once() {
	local tcpdump status
	rm -f "$WORK/tcpdump" "$WORK/pcap"
	# not by in_ns: tcpdump itself must get the signal
	ip netns exec "${SIDE_NS[server]}" tcpdump --immediate-mode -i veth0 -n -s "$((MTU + 14))" -B 32768 -U -Z root \
		-w "$WORK/pcap" udp port 4791 2>"$WORK/tcpdump" &
	tcpdump=$!
	within 10 grep -q 'listening on' "$WORK/tcpdump" || { cat "$WORK/tcpdump"; kill "$tcpdump"; return 1; }
	"$@"
	status=$?
	within 20 all_written
	kill "$tcpdump"
	wait "$tcpdump"
	cat "$WORK/tcpdump"
	# packets for which the kernel had no room, and packets that tcpdump has not read
	[ "$(told 'dropped by kernel')" = 0 ] && [ "$(told captured)" = "$(told 'received by filter')" ] || status=2
	return "$status"
}

# capture COMMAND...: try several times; a slow machine may lose packets
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

# tshark's output for rocecheck.py. tshark must not guess the protocol of the payload; a UDP checksum of 0 is allowed in
# RoCEv2, over IPv6 as well
decode() {
	tshark -r "$WORK/pcap" --only-protocols frame,eth,ethertype,ip,ipv6,udp,infiniband \
		-o udp.ignore_ipv6_zero_checksum:TRUE -T fields -e frame.protocols -e infiniband.bth.opcode -e infiniband.invariant.crc \
		-e _ws.malformed -e _ws.expert.severity -e _ws.expert.message >"$WORK/decoded" 2>"$WORK/tshark" && return
	cat "$WORK/tshark"
	return 1
}

# well_formed OPCODE...: all packets are, and each opcode occurs
well_formed() { decode && python3 "$LIB/rocecheck.py" --decoded "$WORK/decoded" "$WORK/pcap" "$MTU" "$@"; }

programs() {
	pingpong server client "$1" -s 20001 -n 5 && perftest server client "$1" 65536 ib_write_bw -s 65536 -n 20 &&
		perftest server client "$1" 65537 ib_read_bw -s 65537 -n 20 &&
		perftest server client "$1" 8 ib_atomic_bw -n 20
}

# All packets that the tests in C send between the two devices
rc_traffic() {
	"$TESTS/data" -v rc_v4_1024 -v rc_v6_4096 && "$TESTS/data" -r rc.v4.fetch_add -r rc.v6.compare_swap &&
		"$TESTS/rc_windows" -v type_2 && {
		[ "${#ANNEX19[@]}" = 0 ] || "$TESTS/rc_annex19" -t atomic_write -t flush_range_and_region
	}
}

other_traffic() {
	"$TESTS/data" -r size.uc_v6_4096.each_operation -r size.uc_wr_api.each_operation &&
		"$TESTS/data" -V srq -f ud -v ud_v4 -v ud_v6 && "$TESTS/mcast" -t peer_alone &&
		"$TESTS/xrc" -t send -t write_read_atomic -t write_with_immediate
}

links 1500
PACKETS=(FIRST MIDDLE LAST)
for family in v4 v6; do
	check "$family: capture programs" capture programs "$family"
	check "$family: well-formed" well_formed "${PACKETS[@]/#/SEND_}" "${PACKETS[@]/#/WRITE_}" READ_REQUEST \
		"${PACKETS[@]/#/READ_RESP_}" ACK FETCH_ADD ATOMIC_ACK
done
topology_down

links 9000
export SMR_DEV=${SIDE_DEV[server]} SMR_DEV2=${SIDE_DEV[client]} SMR_PATH=veth SMR_LARGEST=65537
PACKETS=(FIRST MIDDLE LAST LAST_IMM ONLY ONLY_IMM)
# Linux has these since 6.2
ANNEX19=()
kernel_since 6.2 && ANNEX19=(ATOMIC_WRITE FLUSH)
check "capture reliable connections" capture rc_traffic
check "well-formed" well_formed "${PACKETS[@]/#/SEND_}" "${PACKETS[@]/#/WRITE_}" READ_REQUEST \
	READ_RESP_{FIRST,MIDDLE,LAST,ONLY} ACK SEND_{LAST,ONLY}_INV CMP_SWAP FETCH_ADD ATOMIC_ACK "${ANNEX19[@]}"
check "capture other types of QP" capture other_traffic
check "well-formed" well_formed "${PACKETS[@]/#/UC_SEND_}" "${PACKETS[@]/#/UC_WRITE_}" UD_SEND_ONLY{,_IMM} \
	XRC_SEND_{FIRST,LAST,LAST_IMM} XRC_WRITE_{FIRST,LAST,LAST_IMM} XRC_READ_RE{QUEST,SP_FIRST,SP_LAST} \
	XRC_{CMP_SWAP,FETCH_ADD,ATOMIC_ACK,ACK}
topology_down
finish
