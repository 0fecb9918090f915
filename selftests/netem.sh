#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 400
#
# A bad network in both directions: all data arrives, and each work request completes once
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
modprobe sch_netem 2>/dev/null
try_veth 1500 || finish

# Each side knows the other's MAC address. ib_core resolves it when a QP goes to RTR, and waits for a second: if the
# network loses that request, the connection fails before softmr has anything to send
introduce() {
	local side peer=client mac
	for side in server client; do
		mac=$(ip -n "${SIDE_NS[$peer]}" -br link show dev veth0 | awk '{ print $3 }')
		ip -n "${SIDE_NS[$side]}" neigh replace "${SIDE_V4[$peer]}" lladdr "$mac" dev veth0 nud permanent || return
		ip -n "${SIDE_NS[$side]}" neigh replace "${SIDE_V6[$peer]}" lladdr "$mac" dev veth0 nud permanent || return
		peer=server
	done
}

impair() {
	local side
	for side in server client; do
		tc -n "${SIDE_NS[$side]}" qdisc replace dev veth0 root netem limit 10000 "$@" || return
	done
}

# The counter that must show an impairment, or the test has tested nothing. netem computes UDP's checksum before it
# corrupts a packet, so that the stack drops it before softmr looks at its ICRC; packet_fuzz has wrong ICRCs
declare -A SHOWS=(
	[loss]=retransmits
	[reordering]=out_of_sequence
	[duplication]=duplicate_requests
	[corruption]=retransmits
	["all of it"]=retransmits
)

# shown COUNTER: of both devices
shown() {
	local total=0 dev
	for dev in "${SIDE_DEV[@]}"; do total=$((total + $(counter "$dev" "$1"))); done
	echo "$total"
}

# noticed WHAT BEFORE
noticed() {
	local now
	now=$(shown "${SHOWS[$1]}")
	echo "${SHOWS[$1]}: $2 before, $now now"
	[ "$now" -gt "$2" ]
}

# data checks each byte and each completion; both devices are open in one process
data() {
	SMR_DEV=${SIDE_DEV[server]} SMR_DEV2=${SIDE_DEV[client]} timeout 60 "$(dirname "$0")/data" "$@"
}

# Either side of ibv_rc_pingpong exits when it has received everything. If the ACK of the other's last message was lost,
# no process is left to repeat it. Then that request fails, as it must, although all data has arrived
left_alone() {
	local out failed=0 done=0
	for out in "$SERVER_OUT" "$CLIENT_OUT"; do
		if grep -q 'retry counter exceeded' "$out"; then failed=$((failed + 1)); fi
		if grep -q ' iters in ' "$out" && ! grep -q 'invalid data' "$out"; then done=$((done + 1)); fi
	done
	[ "$failed $done" = "1 1" ]
}

pingpong_to_the_end() {
	local try
	for try in 1 2 3 4; do
		pingpong server client "$@" && return
		left_alone || return
		echo "one side was left alone with its last request, attempt $try"
	done
	return 1
}

runs() {
	local what=$1 before
	shift
	[ "$LINK_TYPE" != softmr ] || before=$(shown "${SHOWS[$what]}")
	check "$what: netem" impair "$@" || return
	check "$what: pingpong" pingpong_to_the_end v4 -s 50000 -n 40 -c
	check "$what: pingpong over IPv6, events" pingpong_to_the_end v6 -e -s 3000 -n 60 -c
	for op in send write read; do
		check "$what: ib_${op}_bw" perftest server client v4 65536 "ib_${op}_bw" -s 65536 -n 25
	done
	check "$what: ib_atomic_bw" perftest server client v4 8 ib_atomic_bw -n 60
	if [ "$LINK_TYPE" = softmr ]; then
		check "$what: the devices noticed" noticed "$what" "$before"
	fi
}

# netem impairs a GSO packet as a whole. Without GSO, each packet is impaired separately
for side in server client; do
	in_ns "${SIDE_NS[$side]}" ethtool -K veth0 tx-udp-segmentation off >/dev/null
done
check "the sides know each other" introduce
runs "loss" loss 1%
runs "reordering" delay 300us reorder 95%
runs "duplication" duplicate 2%
runs "corruption" corrupt 1%
runs "all of it" delay 300us reorder 95% loss 1% duplicate 2% corrupt 1%
if [ -x "$(dirname "$0")/data" ]; then
	check "all of it: every byte" data -v rc_v4_1024
	# without the tests that send hundreds of messages one by one: each loss at the end of a message costs a timeout
	check "all of it: every completion" data -V v6 -V wr_api -f rc
fi
finish
