#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
#
# One process is killed in the middle of its traffic: the other one's work requests complete with an error, and both
# hosts continue as before
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"

RETRY_EXC="Failed status 12"
FLUSHED="Failed status 5"

# kill_one VICTIM SURVIVOR PROGRAM OPTION...: the survivor, which sends, must exit by itself because of an error
# completion
kill_one() {
	local victim=$1 survivor=$2 SERVER CLIENT
	shift 2
	# timeout 4 ms
	traffic server client "$@" -D 60 -u 10 || return
	local -A base=([server]=$SERVER [client]=$CLIENT)
	within 10 has_sent "${SIDE_DEV[$survivor]}" || { echo "no traffic"; return 1; }
	stop "$victim" "${base[$victim]}" KILL
	if ! within 20 ended "${base[$survivor]}"; then
		echo "the survivor goes on:"
		stop "$survivor" "${base[$survivor]}" KILL
		cat "${base[$survivor]}.out"
		return 1
	fi
	cat "${base[$survivor]}.out"
	echo "its status: $(<"${base[$survivor]}.rc")"
	within 5 ended "${base[$victim]}" && [ "$(<"${base[$survivor]}.rc")" != 0 ] &&
		grep -q "$RETRY_EXC\|$FLUSHED" "${base[$survivor]}.out"
}

sent_bytes() {
	rdma statistic show link "$1" | awk '/tx_bytes|local_bytes|sent_pkts/ { s += $2 } END { print s + 0 }'
}

# has_sent DEVICE: it has sent, and still sends
has_sent() {
	local before
	before=$(sent_bytes "$1")
	nap 0.3
	[ "$(sent_bytes "$1")" -gt $((before + 100)) ]
}

both_ways() {
	local where=$1
	check "$where: target of WRITEs killed" kill_one server client ib_write_bw -s 65536
	check "$where: source of READs killed" kill_one server client ib_read_bw -s 65536
	check "$where: receiver killed" kill_one server client ib_send_bw -s 4096
	check "$where: one of two senders killed" kill_one client server ib_write_bw -b -s 65536
	check "$where: many QPs" kill_one server client ib_write_bw -q 16 -s 4096
	check "$where: works as before" pingpong server client v4 -s 4096 -n 50 -c
}

if try_same_host; then
	both_ways "same host"
	topology_down
fi
if try_veth 1500; then
	both_ways "veth"
	topology_down
fi
check "the module can be removed" modprobe -r "$LINK_MODULE"
check "the module can be loaded again" have_link_type "$LINK_TYPE"
finish
