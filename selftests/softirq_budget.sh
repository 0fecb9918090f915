#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: qemu-newest qemu-stable qemu-oldest qemu-cloud qemu-race uml-checked uml
# nodes: 1
# timeout: 120
#
# Many QPs read at once, and their requests arrive in bursts. One softirq sends no more answers than its budget allows
# for all of them together; workqueues send the rest. Tracepoints count the packets that each softirq sends. The test
# also prints the time that the softirqs took, which includes time that the host took away
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"
# shellcheck source=selftests/lib/tracing.sh
. "$LIB/tracing.sh"

need_link_type "$LINK_TYPE"
need_tracefs
EVENTS="irq/softirq_entry irq/softirq_exit softmr/smr_request net/net_dev_start_xmit"

# A packet of 1 KiB costs 2 KiB, and the budget is 256 KiB, which the last train, of at most 64 packets, may exceed.
# Only answers are sent in trains: the requests that the other side on this host sends are not counted. Requests cannot
# be counted instead: an answer may wait for the network, and a repeated request may be short
READ=65536 ALLOWED=$((256 / 2 + 64))

trace_switch() {
	local event
	for event in $EVENTS; do
		echo "$1" >"$TRACING/events/$event/enable" || return
	done
}

trace_on() {
	echo mono >"$TRACING/trace_clock" && echo 10000 >"$TRACING/buffer_size_kb" && trace_switch 1 &&
		echo >"$TRACING/trace" && echo 1 >"$TRACING/tracing_on"
}

# analyse: the softirqs of packets by powers of two of microseconds; the most packets that one of them has sent in trains;
# the requests in all of them, and outside
analyse() {
	awk '{ match($0, /\[[0-9]+\]/); cpu = substr($0, RSTART, RLENGTH) }
		{ match($0, /[0-9]+\.[0-9]+:/); now = substr($0, RSTART, RLENGTH - 1) * 1000000 }
		/softirq_entry.*NET_RX/ { begin[cpu] = now; n[cpu] = 0; next }
		/smr_request:/ { if (cpu in begin) inside++; else outside++ }
		match($0, /gso_segs=[0-9]+/) && cpu in begin {
			segs = substr($0, RSTART + 9, RLENGTH - 9)
			if (segs > 1) n[cpu] += segs
		}
		/softirq_exit.*NET_RX/ && cpu in begin {
			us = now - begin[cpu]; delete begin[cpu]
			for (b = 8; b < us; b *= 2);
			slots[b]++
			if (n[cpu] > most) most = n[cpu]
		}
		END {
			for (b = 8; b <= 1048576; b *= 2) if (b in slots) printf "  <=%d us: %d", b, slots[b]
			printf "\nmost %d, requests inside %d, outside %d\n", most, inside, outside
		}' "$TRACING/trace"
}

# sent_since N: the server has sent N packets since it had sent $SENT
sent_since() { [ $(($(counter "${SIDE_DEV[server]}" tx_packets) - SENT)) -ge "$1" ]; }

# flows N: N packets are sent from now on, however long that takes
flows() {
	SENT=$(counter "${SIDE_DEV[server]}" tx_packets)
	within 60 sent_since "$1"
}

# measure COMMAND...: sets ANALYSIS
measure() {
	traffic server client "$@" -D 100 || return
	flows 1000 || { echo "the traffic does not begin"; return 1; }
	trace_on && nap 1 && flows 4000 && echo 0 >"$TRACING/tracing_on" && trace_switch 0 || return
	stop client "$CLIENT" KILL
	stop server "$SERVER" KILL
	within 20 ended "$CLIENT" && within 20 ended "$SERVER" || return
	analyse >"$WORK/analysis"
	ANALYSIS=$(tail -n 1 "$WORK/analysis")
}

within_budget() {
	local most=${ANALYSIS#most }
	most=${most%%,*}
	((most > 0 && most <= ALLOWED)) || { echo "$ANALYSIS; allowed are 1 to $ALLOWED"; return 1; }
}

# Softirqs execute requests while the budget lasts
some_inside() { [[ ! $ANALYSIS =~ "inside 0," ]] || { echo "$ANALYSIS"; return 1; }; }

if try_veth 1500; then
	check "requests come in bursts" tc -n "$(node_name cli)" qdisc add dev veth0 root netem delay 5ms limit 10000
	check "64 QPs read" measure ib_read_bw -q 64 -s "$READ" -t 8 -o 4
	check "no softirq exceeds the budget" within_budget
	check "softirqs execute requests" some_inside
	sed 's/^/# /' "$WORK/analysis"
	topology_down
fi
finish
