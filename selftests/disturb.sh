#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
#
# Requests of all kinds are sent in both directions, and each byte is checked. Meanwhile the netdev goes down and up,
# its MTU changes, addresses are added and removed, the process is stopped and continued, and the clock is set: all data
# arrives. SMR_TIMES=N disturbs N times
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
TIMES=${SMR_TIMES:-12}
try_veth 9000 || finish
SNS=${SIDE_NS[server]} CNS=${SIDE_NS[client]}

# Static neighbours: learnt ones are removed when the netdev goes down, and are learnt again by a request that may be
# lost
introduce() {
	local mac
	mac=$(in_ns "$CNS" cat /sys/class/net/veth0/address)
	ip -n "$SNS" neigh replace 10.1.0.2 lladdr "$mac" dev veth0 nud permanent || return
	mac=$(in_ns "$SNS" cat /sys/class/net/veth0/address)
	ip -n "$CNS" neigh replace 10.1.0.1 lladdr "$mac" dev veth0 nud permanent
}

# Going down removes the routes and static neighbours, and coming up restores only the routes of IPv4 addresses
flap() {
	ip -n "$SNS" link set veth0 down && nap 0.02 && ip -n "$SNS" link set veth0 up && introduce
}

# The path MTU of the QPs is 1024: it fits into all of these
mtu() {
	local mtus=(1280 1500 4200 9000) side
	for side in "$SNS" "$CNS"; do ip -n "$side" link set veth0 mtu "${mtus[RANDOM % 4]}" || return; done
}

# Addresses that no QP uses
address_comes_and_goes() {
	ip -n "$SNS" addr add "10.1.0.$((10 + $1 % 100))/24" dev veth0 && ip -n "$SNS" addr add "fd01::1:$1/64" dev veth0 nodad &&
		nap 0.02 && ip -n "$SNS" addr del "10.1.0.$((10 + $1 % 100))/24" dev veth0 &&
		ip -n "$SNS" addr del "fd01::1:$1/64" dev veth0
}

# The address that the QPs use: while it is missing nothing is sent from it
address_of_the_qps() {
	ip -n "$SNS" addr del 10.1.0.1/24 dev veth0 && nap 0.02 && ip -n "$SNS" addr add 10.1.0.1/24 dev veth0 && introduce
}

stop_and_go() { kill -STOP -- "-$TRAFFIC" && nap 0.1 && kill -CONT -- "-$TRAFFIC"; }

# Set the time of day, by days in both directions. In the end it is as before, because this shell measures time by it
clock_jumps() {
	local jump
	for jump in "1 day" "2 days ago" "1 day"; do date -s "$jump" && nap 0.02 || return; done
}

all_of_them() {
	local what=(flap mtu address_comes_and_goes address_of_the_qps stop_and_go clock_jumps)
	"${what[RANDOM % 6]}" "$1"
}

begin_traffic() {
	SMR_DEV=${SIDE_DEV[server]} SMR_DEV2=${SIDE_DEV[client]} SMR_STOP=$WORK/stop \
		setsid "$(dirname "$0")/rc_mixed" -t both_ways >"$WORK/traffic" 2>&1 &
	TRAFFIC=$!
	within 20 moves
}

bytes() { counter "${SIDE_DEV[client]}" tx_bytes; }
moves() {
	local before
	before=$(bytes)
	nap 0.05
	[ "$(bytes)" -gt $((before + 1000)) ]
}

# disturb WHAT: data flows again after each time, and is right at the end
disturb() {
	local i status
	rm -f "$WORK/stop"
	introduce && begin_traffic || return
	for ((i = 1; i <= TIMES; i++)); do
		"$1" "$i" || { echo "$1 $i cannot be done"; return 1; }
		within 10 moves || { echo "after $1 $i nothing moves"; cat "$WORK/traffic"; return 1; }
	done
	touch "$WORK/stop"
	wait "$TRAFFIC"
	status=$?
	cat "$WORK/traffic"
	return "$status"
}

for what in flap mtu address_comes_and_goes address_of_the_qps stop_and_go clock_jumps all_of_them; do
	check "$TIMES times ${what//_/ }" disturb "$what"
done
check "works as before" pingpong server client v4 -s 4096 -n 50 -c
finish
