#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 400
#
# Two QPs of one host exchange messages without packets. A sniffer of the RDMA device (a RAW_PACKET QP with a sniffer
# flow, as libpcap uses) sees the packets that the wire would have carried. tshark, and a program that computes each
# checksum, check them
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "softmr's own"
need_link_type softmr
have tcpdump || skip_all "no tcpdump"
python3 -c "import pyverbs" || skip_all "no pyverbs"
have tshark || skip_all "no tshark"
MTU=1500
# A last packet of 3 bytes: of one of 1 byte, padded with zeroes, tshark takes 08 for the EtherType of IPoIB
READ=4099

# The file has grown, and no longer grows
all_written() {
	local before
	before=$(stat -c %s "$WORK/pcap")
	nap 0.5
	[ "$before" -gt 100 ] && [ "$(stat -c %s "$WORK/pcap")" = "$before" ]
}
# capture SNIFFER... -- COMMAND...: the packets of COMMAND that the sniffer sees go to $WORK/pcap
capture() {
	local sniffer status program=()
	while [ "$1" != -- ]; do program+=("$1"); shift; done
	shift
	rm -f "$WORK/sniffer" "$WORK/pcap"
	"${program[@]}" >"$WORK/sniffer" 2>&1 &
	sniffer=$!
	within 20 grep -q listening "$WORK/sniffer" || { cat "$WORK/sniffer"; kill "$sniffer"; return 1; }
	"$@"
	status=$?
	within 20 all_written
	kill "$sniffer"
	wait "$sniffer"
	cat "$WORK/sniffer"
	return "$status"
}
# well_formed OPCODE...: all packets are, and each opcode occurs
well_formed() {
	tcpdump -r "$WORK/pcap" -w "$WORK/roce" udp port 4791 2>/dev/null
	tshark -r "$WORK/roce" --only-protocols frame,eth,ethertype,ip,ipv6,udp,infiniband \
		-T fields -e frame.protocols -e infiniband.bth.opcode -e infiniband.invariant.crc \
		-e _ws.malformed -e _ws.expert.severity -e _ws.expert.message >"$WORK/decoded" 2>"$WORK/tshark" || { cat "$WORK/tshark"; return 1; }
	python3 "$LIB/rocecheck.py" --decoded "$WORK/decoded" "$WORK/roce" "$MTU" "$@"
}
programs() {
	pingpong server client "$1" -s 3001 -n 5 && perftest server client "$1" 4096 ib_write_bw -s 4096 -n 10 &&
		perftest server client "$1" "$READ" ib_read_bw -s "$READ" -n 10 && perftest server client "$1" 8 ib_atomic_bw -n 10 &&
		pingpong_with ibv_ud_pingpong server client "$1" -s 1000 -n 5
}
packets() { counter "$DEV" tx_packets; }

topology_host Y || { not_ok "link"; finish; }
DEV=${SIDE_DEV[server]}
for family in v4 v6; do
	before=$(packets)
	check "$family: capture programs" capture python3 "$LIB/sniff.py" "$DEV" "$WORK/pcap" -- programs "$family"
	check "$family: none of it was a packet" is "$(packets)" "$before"
	check "$family: well-formed, as packets" well_formed SEND_{FIRST,MIDDLE,LAST} WRITE_{FIRST,MIDDLE,LAST} READ_REQUEST \
		READ_RESP_{FIRST,MIDDLE,LAST} ACK FETCH_ADD ATOMIC_ACK UD_SEND_ONLY
done
# softmr capture, which is a separate program
SOFTMR_CAPTURE=(softmr capture --write "$WORK/pcap" "$DEV")
gid_args server -g v4
refused_write() { python3 "$LIB/refused_write.py" "$DEV" "${GID_ARGS[1]}" | grep -q '^10 '; }
comment() { tshark -r "$WORK/pcap" -Y "$1" -T fields -e frame.comment 2>/dev/null; }
check "softmr capture: a WRITE with a key that is none" capture "${SOFTMR_CAPTURE[@]}" -- refused_write
check "the NAK says why" grep -qE "^softmr: 0x1001 KEY_UNKNOWN: .*0xdead00.*; try: " <(comment "infiniband.aeth.syndrome == 0x62")
check "no other packet does" is "$(comment "infiniband.aeth.syndrome != 0x62" | grep -c .)" 0
dropped_datagram_of() { "$@" python3 "$LIB/dropped_datagram.py" "$DEV" "${GID_ARGS[1]}" >"$WORK/said" && is "$(<"$WORK/said")" 0; }
drop_says_why() { grep -qE "^softmr: 0x1404 DROP_QKEY: .* 0x2222 .* 0x1111; try: " <(comment "infiniband.bth.opcode == 100"); }
check "softmr capture: a datagram with a wrong Q_Key" capture "${SOFTMR_CAPTURE[@]}" -- dropped_datagram_of env
check "the dropped packet says why" drop_says_why
check "softmr capture: programs" capture "${SOFTMR_CAPTURE[@]}" -- programs v4
tshark -F pcap -r "$WORK/pcap" -w "$WORK/converted" 2>/dev/null && mv "$WORK/converted" "$WORK/pcap"
check "well-formed" well_formed SEND_{FIRST,MIDDLE,LAST} WRITE_{FIRST,MIDDLE,LAST} READ_REQUEST READ_RESP_{FIRST,MIDDLE,LAST} ACK
check_error "a link that is none" "cannot open the link" softmr capture --write "$WORK/none" never
check_error "not without a file" "needs a link and --write" softmr capture "$DEV"
check "without a sniffer all is as before" pingpong server client v4 -s 3001 -n 5
check_error "not without CAP_NET_RAW" "Operation not permitted|Permission denied" \
	setpriv --reuid 65534 --regid 65534 --clear-groups python3 "$LIB/sniff.py" "$DEV" "$WORK/none"

# -- what needs no privilege: the packets of one's own QPs
NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 777 "$WORK"
SOFTMR_CAPTURE=("${NOBODY[@]}" softmr capture --write "$WORK/pcap" "$DEV")
refused_write_of() { "$@" python3 "$LIB/refused_write.py" "$DEV" "${GID_ARGS[1]}" >"$WORK/said" && grep -q '^10 ' "$WORK/said"; }
root_and_user() { refused_write_of env && refused_write_of "${NOBODY[@]}"; }
captured() { tshark -r "$WORK/pcap" -T fields -e infiniband.bth.opcode 2>/dev/null | tr '\n' ' '; }
# as_own PATH: of each side's packets what the opcodes are: a WRITE, and its NAK
as_own() {
	check "a user captures his datagram with a wrong Q_Key, $1" capture "${SOFTMR_CAPTURE[@]}" -- dropped_datagram_of "${NOBODY[@]}"
	check "the dropped packet says why" drop_says_why
	check "a user captures his own QPs, $1" capture "${SOFTMR_CAPTURE[@]}" -- refused_write_of "${NOBODY[@]}"
	check "he is told that it is not all" grep -q "all of them take CAP_NET_RAW" "$WORK/sniffer"
	check "the WRITE and its NAK" is "$(captured)" "$2"
	check "the NAK says why" grep -qE "^softmr: 0x1001 KEY_UNKNOWN: .*; try: " <(comment "infiniband.aeth.syndrome == 0x62")
	tshark -F pcap -r "$WORK/pcap" -w "$WORK/converted" 2>/dev/null && mv "$WORK/converted" "$WORK/pcap"
	check "well-formed" well_formed WRITE_ONLY ACK
	check "he captures, and root's QPs send before his" capture "${SOFTMR_CAPTURE[@]}" -- root_and_user
	check "he sees his own only" is "$(captured)" "$2"
	check "root captures its own, asked for" capture softmr capture --own --write "$WORK/pcap" "$DEV" -- root_and_user
	check "and sees its own only" is "$(captured)" "$2"
}
as_own "without packets" "10 17 "
check_error "a process with a privilege that its user lacks captures nothing" "Operation not permitted" \
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +net_admin --ambient-caps +net_admin \
	softmr capture --own --write "$WORK/privileged" "$DEV"
topology_down
topology_host N || { not_ok "link without the shortcut"; finish; }
DEV=${SIDE_DEV[server]}
SOFTMR_CAPTURE=("${NOBODY[@]}" softmr capture --write "$WORK/pcap" "$DEV")
gid_args server -g v4
# each packet leaves one QP and arrives at the other
as_own "by packets" "10 10 17 17 "
topology_down
finish
