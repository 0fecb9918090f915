#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 500
#
# Two QPs of one host exchange messages without packets, and with packets while somebody captures them. tshark, and a program
# that computes each checksum, check what softmr capture writes: of all QPs of a link, or of the caller's own
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/cm.sh
. "$LIB/cm.sh"

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
# capture PROGRAM... -- COMMAND...: the packets of COMMAND that PROGRAM captures go to $WORK/pcap
capture() {
	local pid status program=()
	while [ "$1" != -- ]; do program+=("$1"); shift; done
	shift
	rm -f "$WORK/captor" "$WORK/pcap"
	"${program[@]}" >"$WORK/captor" 2>&1 &
	pid=$!
	within 20 grep -q listening "$WORK/captor" || { cat "$WORK/captor"; kill "$pid"; return 1; }
	"$@"
	status=$?
	[ -n "${NONE:-}" ] || within 20 all_written
	kill "$pid"
	wait "$pid"
	cat "$WORK/captor"
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
messages() { counter "$DEV" local_ops; }
# as_messages COMMAND...: it sends messages, and no packets
as_messages() {
	local packets messages
	packets=$(packets) messages=$(messages)
	"$@" && is "$(packets)" "$packets" && [ "$(messages)" -gt "$messages" ]
}
# as_packets COMMAND...: it sends packets, and no messages without packets
as_packets() {
	local packets messages
	packets=$(packets) messages=$(messages)
	"$@" && is "$(messages)" "$messages" && [ "$(packets)" -gt "$packets" ]
}

topology_host Y || { not_ok "link"; finish; }
DEV=${SIDE_DEV[server]}
SOFTMR_CAPTURE=(softmr capture --write "$WORK/pcap" "$DEV")
to_pcap() { tshark -F pcap -r "$WORK/pcap" -w "$WORK/converted" 2>/dev/null && mv "$WORK/converted" "$WORK/pcap"; }
# tcpdump and rocecheck.py read pcap
for family in v4 v6; do
	check "$family: messages have no packets" as_messages programs "$family"
	check "$family: captured programs send packets" capture "${SOFTMR_CAPTURE[@]}" -- as_packets programs "$family"
	to_pcap
	check "$family: well-formed" well_formed SEND_{FIRST,MIDDLE,LAST} WRITE_{FIRST,MIDDLE,LAST} READ_REQUEST \
		READ_RESP_{FIRST,MIDDLE,LAST} ACK FETCH_ADD ATOMIC_ACK UD_SEND_ONLY
	check "$family: after the capture, messages have no packets" as_messages programs "$family"
done

# -- consumers in the kernel: connection management by QP1, and a module's queue pairs
captured() { tshark -r "$WORK/pcap" -T fields -e infiniband.bth.opcode 2>/dev/null | tr '\n' ' '; }
has_captured() { [ -n "$(tshark -r "$WORK/pcap" -Y "$1" 2>/dev/null)" ]; }
addresses v4
check "rdma_cm while its packets are captured" capture "${SOFTMR_CAPTURE[@]}" -- as_packets pings
check "those of QP1 are among them" has_captured "infiniband.bth.destqp == 1 && infiniband.bth.opcode == 100"
side_gid server v4
kernel_consumer() { modprobe kverbs_test dev="$DEV" gid="$GID" && modprobe -r kverbs_test; }
if modinfo kverbs_test >/dev/null 2>&1; then
	check "a module, while its packets are captured" capture "${SOFTMR_CAPTURE[@]}" -- as_packets kernel_consumer
	check "they are those of reliable connections" has_captured "infiniband.bth.opcode == 10"
else
	skip "a module, while its packets are captured" "no kverbs_test"
fi

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
check_error "a link that is none" "cannot open the link" softmr capture --write "$WORK/none" never
check_error "not without a file" "needs a link and --write" softmr capture "$DEV"

# -- packets that no queue pair gets
# a SEND_ONLY by a raw socket
stray() {
	python3 -c '
import socket, struct, sys
packet = bytes((4, 0, 0xff, 0xff)) + struct.pack(">II", 0xabcdef, 0x80000001) + bytes(8)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
raw.sendto(struct.pack(">HHHH", 50000, 4791, 8 + len(packet), 0) + packet, (sys.argv[1], 0))' "${SIDE_V4[server]}"
}
check "softmr capture: a packet for a queue pair that does not exist" capture "${SOFTMR_CAPTURE[@]}" -- stray
check "it says why nobody gets it" grep -qE "^softmr: 0x140b DROP_NO_QP" <(comment "infiniband.bth.destqp == 0xabcdef")

# -- where packets do not get through, messages go on without them
not_seen() { NONE=1 capture "${SOFTMR_CAPTURE[@]}" -- as_messages refused_write && grep -q "$1" "$WORK/captor"; }
ip link set lo down
check "softmr capture says that lo is down" not_seen "messages between two queue pairs of this host.* are not seen"
ip link set lo up
lo_mtu=$(cat /sys/class/net/lo/mtu)
ip link set lo mtu 1400
ip link set eth0 mtu 9000
check "softmr capture says that lo has no room for the longest packets" not_seen "messages between two queue pairs of this host.* are not seen"
ip link set eth0 mtu "$MTU"
ip link set lo mtu "$lo_mtu"
if nft add table inet "$DEV" 2>/dev/null; then
	on_exit nft delete table inet "$DEV"
	nft add chain inet "$DEV" in "{ type filter hook input priority 0; }"
	nft add rule inet "$DEV" in iifname lo meta nfproto ipv4 udp dport 4791 drop
	check "softmr capture says that a filter drops the packets" not_seen "of this host by IPv4 are not seen"
	nft delete table inet "$DEV"
else
	skip "softmr capture says that a filter drops the packets" "this kernel has no nftables"
fi
check "then it sees them again" capture "${SOFTMR_CAPTURE[@]}" -- as_packets refused_write

# -- what needs no privilege: the packets of one's own QPs
NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 777 "$WORK"
SOFTMR_CAPTURE=("${NOBODY[@]}" softmr capture --write "$WORK/pcap" "$DEV")
refused_write_of() { "$@" python3 "$LIB/refused_write.py" "$DEV" "${GID_ARGS[1]}" >"$WORK/said" && grep -q '^10 ' "$WORK/said"; }
root_and_user() { "$1" refused_write_of env && as_packets refused_write_of "${NOBODY[@]}"; }
user_and_root() { "$1" refused_write_of "${NOBODY[@]}" && as_packets refused_write_of env; }
# as_own PATH OTHERS: a user captures his own queue pairs; OTHERS runs the command of another user
as_own() {
	check "a user captures his datagram with a wrong Q_Key, $1" capture "${SOFTMR_CAPTURE[@]}" -- dropped_datagram_of "${NOBODY[@]}"
	check "the dropped packet says why" drop_says_why
	check "a user captures his own QPs, $1" capture "${SOFTMR_CAPTURE[@]}" -- refused_write_of "${NOBODY[@]}"
	check "he is told that it is not all" grep -q "all of them take CAP_NET_RAW" "$WORK/captor"
	check "the WRITE and its NAK" is "$(captured)" "10 17 "
	check "the NAK says why" grep -qE "^softmr: 0x1001 KEY_UNKNOWN: .*; try: " <(comment "infiniband.aeth.syndrome == 0x62")
	to_pcap
	check "well-formed" well_formed WRITE_ONLY ACK
	check "he captures, and root's QPs send before his, $2" capture "${SOFTMR_CAPTURE[@]}" -- root_and_user "$2"
	check "he sees his own only" is "$(captured)" "10 17 "
	check "root captures its own, asked for; his QPs send, $2" capture softmr capture --own --write "$WORK/pcap" "$DEV" -- \
		user_and_root "$2"
	check "and sees its own only" is "$(captured)" "10 17 "
}
as_own "usually without packets" as_messages
check_error "a process with a privilege that its user lacks captures nothing" "Operation not permitted" \
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +net_admin --ambient-caps +net_admin \
	softmr capture --own --write "$WORK/privileged" "$DEV"
topology_down
topology_host N || { not_ok "link without the shortcut"; finish; }
DEV=${SIDE_DEV[server]}
SOFTMR_CAPTURE=("${NOBODY[@]}" softmr capture --write "$WORK/pcap" "$DEV")
gid_args server -g v4
as_own "by packets" as_packets
topology_down
finish
