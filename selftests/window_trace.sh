#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: uml uml-checked
# nodes: 1
# timeout: 240
#
# What both ends of a reliable connection do on a network that loses, reorders and duplicates packets, event by event,
# compared with the model of lib/window_model.py: the model must have each step of the driver. With one event missing,
# doubled or changed, the same trace must not fit
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/ctest.sh
. "$LIB/ctest.sh"
# shellcheck source=selftests/lib/tracing.sh
. "$LIB/tracing.sh"

MODEL=$LIB/window_model.py
EVENTS="smr_send_start smr_send_done smr_recv_done smr_request smr_aeth smr_retry"
# Path MTU of the QPs, and requests each way
MTU=1024 REQUESTS=200

need_link_type "$LINK_TYPE"
need_tracefs
modprobe sch_netem 2>/dev/null

trace_switch() {
	local event
	for event in $EVENTS; do
		echo "$1" >"$TRACING/events/softmr/$event/enable" || return
	done
}

# Events of two CPUs must be in the order in which they happened, so use the counter clock
trace_begin() {
	on_exit trace_switch 0
	echo counter >"$TRACING/trace_clock" && echo 20000 >"$TRACING/buffer_size_kb" && echo >"$TRACING/trace" &&
		trace_switch 1 && echo 1 >"$TRACING/tracing_on"
}

# The network impairs each packet separately
impair() {
	local end
	for end in "" "$SMR_PEER_NETNS"; do
		in_ns "$end" ethtool -K veth0 tx-udp-segmentation off >/dev/null &&
			in_ns "$end" tc qdisc replace dev veth0 root netem limit 10000 "$@" || return
	done
}

# record TEST: its trace, in $WORK/trace
record() {
	trace_begin || return
	SMR_MIXED=$REQUESTS "$(dirname "$0")/rc_mixed" -t "$1"
	local status=$?
	trace_switch 0
	cp "$TRACING/trace" "$WORK/trace"
	return "$status"
}

judge() { python3 "$MODEL" "$MTU" "${1:-$WORK/trace}"; }

# The trace must show the impairments, or nothing was compared. Prints what it shows
has() {
	local what said
	said=$(judge) || { echo "$said"; return 1; }
	echo "$said"
	for what in "$@"; do
		[[ $said =~ \ [1-9][0-9]*\ $what ]] || { echo "no $what"; return 1; }
	done
}

# without REGEX: the trace without the middle one of the events that match
without() {
	awk -v regex="$1" 'FNR == NR { n += $0 ~ regex; next } $0 !~ regex || ++i != int((n + 1) / 2)' \
		"$WORK/trace" "$WORK/trace" >"$WORK/altered"
	[ "$(wc -l <"$WORK/altered")" = $(($(wc -l <"$WORK/trace") - 1)) ] || { echo "no event $1"; return; }
	judge "$WORK/altered"
}

# altered SED: the trace with one event doubled or changed
altered() {
	sed "$1" "$WORK/trace" >"$WORK/altered"
	! cmp -s "$WORK/trace" "$WORK/altered" || { echo "no such event"; return; }
	judge "$WORK/altered"
}

# compare WHAT TEST SEEN NETEM-OPTION...: the trace must have SEEN
compare() {
	local what=$1 test=$2 seen=$3
	shift 3
	check "$what: netem" impair "$@" || return
	check "$what: $test, every byte" record "$test" || return
	# shellcheck disable=SC2086 # words
	check "$what: the steps of $test are the model's" has $seen && diag "$(tail -n 1 "$WORK/check")"
}

if ! devices_for veth >"$WORK/devices" 2>&1; then
	not_ok "devices" "$WORK/devices"
	finish
fi
BAD=(delay 200us 100us loss 1% duplicate 1% reorder 90%)
compare "quiet" one_way "completed requests answers" delay 0us
compare "quiet" both_ways "completed requests answers" delay 0us
compare "loss" one_way "completed gaps naks retries" loss 2%
compare "duplication" one_way "completed duplicates" duplicate 3%
compare "reordering" one_way "completed gaps retries" delay 200us 100us reorder 80%
compare "all of it" both_ways "completed duplicates gaps naks retries missing" "${BAD[@]}"
compare "all of it" one_way "completed duplicates gaps naks retries" "${BAD[@]}"

# The last trace, with one event less, or one more, or another one
check_error "no start" "PSNs begin at|has no such PSN" without 'smr_send_start:'
check_error "no completion" "has not completed|not the oldest work request" without 'smr_send_done:'
check_error "a request that was not executed" "executed out of order|has not executed|not the next part" without 'smr_request:.*verdict=0'
check_error "a receive too few" "receives for" without 'smr_recv_done:'
check_error "a completion twice" "not the oldest work request" altered '0,/smr_send_done:/{/smr_send_done:/p}'
check_error "a completion too early" "not acknowledged" altered \
	'0,/smr_send_start:/{/smr_send_start:/{p;s/smr_send_start:\(.* qpn=[^ ]* wr_id=[^ ]*\).*/smr_send_done:\1 status=0/}}'
check_error "a request executed twice" "executed out of order" altered '0,/smr_request:.*verdict=0/{/smr_request:.*verdict=0/p}'
check_error "a request that was never sent" "has no such PSN|has not executed|executed out of order" altered \
	'0,/smr_request:.*verdict=0/{/smr_request:.*verdict=0/s/ psn=[0-9a-fx]*/ psn=0x5000/}'
# A trace with nothing in it is no proof
check_error "an empty trace" "0 completed" judge /dev/null
finish
