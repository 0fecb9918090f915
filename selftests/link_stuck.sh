#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 200
#
# Two links of one namespace. The queue of one sends a byte a millisecond, and is filled until its sender has to wait:
# the other link works as before. Then the packets in the queue outlive their sender, its link and the module
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "nothing tells that the queue of $LINK_TYPE is full"
need_link_type "$LINK_TYPE"
SRV=$(node_name srv) CLI=$(node_name cli)

# second_veth: make veth1 next to veth0, with a link on each end
second_veth() {
	ip -n "$SRV" link add veth1 type veth peer name veth1 netns "$CLI" || return
	ip -n "$SRV" -batch - <<-END &&
		link set veth1 up
		addr add 10.2.0.1/24 dev veth1
		addr add fd02::1/64 dev veth1 nodad
	END
	ip -n "$CLI" -batch - <<-END &&
		link set veth1 up
		addr add 10.2.0.2/24 dev veth1
		addr add fd02::2/64 dev veth1 nodad
	END
	link_add "$(node_name ss)" veth1 "$SRV" && link_add "$(node_name cs)" veth1 "$CLI" &&
		side stuck_server "$(node_name ss)" "$SRV" 10.2.0.1 fd02::1 &&
		side stuck_client "$(node_name cs)" "$CLI" 10.2.0.2 fd02::2
}

# Other QPs have budgets of their own
other_qps() {
	local before
	before=$(counter "$(node_name cs)" tx_backpressure)
	pingpong stuck_server stuck_client v6 -s 65536 -n 20 -c && is "$(counter "$(node_name cs)" tx_backpressure)" "$before"
}

waits_for_room() { [ "$(counter "$(node_name cs)" tx_backpressure)" -gt 0 ]; }

# The number of bytes in the queue. The budget of a QP is 512 KiB, including the overhead of its packets of 1 KiB
backlog() { tc -n "$CLI" -s -j qdisc show dev veth1 parent 1:3 | grep -oP '"backlog":\K[0-9]+'; }
is_full() { [ "$(backlog)" -gt 100000 ] || { echo "in the queue: $(backlog) bytes"; return 1; }; }

# Wait until the sender has used up its send budget. Only bulk traffic goes through that queue
fill_queue() {
	traffic stuck_server stuck_client ib_send_bw -c UD -s 1024 -D 60 --tclass=8 &&
		tc -n "$CLI" qdisc add dev veth1 root handle 1: prio &&
		tc -n "$CLI" qdisc add dev veth1 parent 1:3 handle 3: tbf rate 8kbit burst 10kb limit 64mb &&
		within 20 waits_for_room
}

stop_traffic() {
	stop stuck_client "$CLIENT" KILL
	stop stuck_server "$SERVER" KILL
	within 10 ended "$CLIENT" && within 10 ended "$SERVER"
}

if try_veth 1500; then
	check "a second link beside the first" second_veth || finish
	check "one link's sender waits for room" fill_queue
	check "the queue is full" is_full
	for how in "v4" "v6" "v4 -e"; do
		# shellcheck disable=SC2086 # words are meant
		check "the other link: $how" pingpong server client $how -s 65536 -n 20 -c || break
	done
	check "the same link: other QPs" other_qps
	check "the queue is still full" is_full
	check "who waits for room can be killed" stop_traffic
	check "the stuck link can be deleted" link_del "$(node_name cs)" "$CLI"
	check "the queue is full after that" is_full
	check "the module can be removed" modprobe -r "$LINK_MODULE"
	check "the queue is emptied" tc -n "$CLI" qdisc del dev veth1 root
	topology_down
fi
check "the module can be loaded again" have_link_type "$LINK_TYPE"
finish
