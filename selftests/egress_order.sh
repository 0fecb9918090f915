#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 120
#
# A netdev with two TX queues, one for each CPU (XPS), of which one is slower. A sender that moves between the CPUs must
# stay on one queue, or its trains overtake each other
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"
modprobe sch_netem 2>/dev/null
QUEUES=/sys/class/net/veth0/queues

# shellcheck disable=SC2016 # the shell in the namespace expands it
queue_per_cpu() {
	in_ns "$1" bash -c 'for i in 0 1; do echo $((1 << i)) >'"$QUEUES"'/tx-$i/xps_cpus || exit; done'
}

# A veth hands packets to the CPU that happens to send them; each CPU has a queue of its own, and two of them may take
# packets of one sender at once. With RPS the sender's address and port choose the CPU
# shellcheck disable=SC2016 # the shell in the namespace expands it
receive_in_order() {
	in_ns "$1" bash -c 'for i in 0 1; do echo 3 >'"$QUEUES"'/rx-$i/rps_cpus || exit; done'
}

# A packet takes as long as the queue says. The queue loses none: netem's own limit is 1000 packets
slow_queue() {
	tc -n "$1" qdisc add dev veth0 root handle 1: mq && tc -n "$1" qdisc add dev veth0 parent 1:1 netem delay 1ms limit 100000 &&
		tc -n "$1" qdisc add dev veth0 parent 1:2 netem delay 4ms limit 100000
}

queues() {
	local ns VETH_QUEUES=2
	topology_veth 1500 || return
	for ns in "${SIDE_NS[@]}"; do queue_per_cpu "$ns" && receive_in_order "$ns" && slow_queue "$ns" || return; done
}

# move_about PROGRAM: all threads of all its processes run on one CPU, then on the other
move_about() {
	local cpu pid
	while :; do
		for cpu in 0 1; do
			for pid in $(pgrep -x "$1"); do taskset -acp "$cpu" "$pid"; done >/dev/null 2>&1
			nap 0.01
		done
	done
}

sent() { for dev in "${SIDE_DEV[@]}"; do counter "$dev" tx_packets; done | awk '{ n += $1 } END { print n }'; }

# in_order FAMILY PROGRAM OPTION...: PROGRAM runs, sends, and no packet overtakes another
in_order() {
	local family=$1 program=$2 status=0 before mover dev n
	shift 2
	before=$(sent)
	move_about "$program" &
	mover=$!
	perftest server client "$family" 65536 "$program" -s 65536 "$@" || status=$?
	kill "$mover"
	wait "$mover" 2>/dev/null
	[ "$status" = 0 ] || return
	[ "$(sent)" -gt $((before + 10000)) ] || { echo "only $(($(sent) - before)) packets"; return 1; }
	# an early retransmission means that packets were late, not out of order
	for dev in "${SIDE_DEV[@]}"; do
		n=$(($(counter "$dev" retransmits) - $(counter "$dev" early_retransmits)))
		[ "$n" = 0 ] || { echo "$dev: retransmits $n"; status=1; }
		[ "$(counter "$dev" out_of_sequence)" = 0 ] ||
			{ echo "$dev: out_of_sequence $(counter "$dev" out_of_sequence)"; status=1; }
	done
	return "$status"
}

if [ "$(nproc)" -lt 2 ]; then skip_all "one CPU uses one queue"; fi
queues || { not_ok "links on a netdev with two queues"; finish; }
check "WRITEs stay in order" in_order v4 ib_write_bw -n 500 -u 18
check "SENDs of 4 QPs, by IPv6" in_order v6 ib_send_bw -n 200 -q 4 -u 18
check "READs" in_order v4 ib_read_bw -n 500 -u 18
finish
