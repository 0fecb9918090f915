#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 60
#
# Destroying QPs makes no expedited grace periods, each of which interrupts all CPUs. A probe counts them
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tracing.sh
. "$LIB/tracing.sh"

need_link_type "$LINK_TYPE"
need_tracefs
[ -e "$TRACING/kprobe_events" ] || skip_all "this kernel has no kprobes"
QPS=128

probe() { echo "$1" >>"$TRACING/kprobe_events"; }

counting() { echo "$1" >"$TRACING/events/kprobes/smr_expedited/enable"; }

# The RDMA core and the sockets of a connection wait for some as well
few() {
	local n
	counting 1 && echo >"$TRACING/trace" || return
	perftest server client v4 64 ib_write_bw -q "$QPS" -s 64 -n 5 -t 1 || return
	counting 0
	n=$(grep -c 'smr_expedited:' "$TRACING/trace")
	echo "$n expedited grace periods for $((2 * QPS)) QPs"
	[ "$n" -lt $((QPS / 4)) ]
}

probe "p:smr_expedited synchronize_rcu_expedited" || skip_all "the function cannot be probed"
on_exit probe "-:smr_expedited"
on_exit counting 0
try_same_host || finish
check "$((2 * QPS)) QPs go" few
finish
