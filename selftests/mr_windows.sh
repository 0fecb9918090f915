#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 90
#
# A region with bound windows cannot be deregistered, and all interfaces report why: softmrdv.h through examples/busy.c, rdma
# resource, the counter, the tracepoint
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/tool.sh
. "$LIB/tool.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "softmr's own interfaces"
need_link_type "$LINK_TYPE"
TRACE=/sys/kernel/tracing/instances/mr_windows$NODE

# The number of deregistrations that the device has refused
refused() { counter "$DEV" mr_dereg_refused; }

# demo WINDOWS [COMMAND]: its output is in $WORK/demo
demo() {
	side_gid server v4 || return
	timeout -k 2 30 "$WORK/busy" "$DEV" "$GID" "$@" >"$WORK/demo" 2>&1 || { cat "$WORK/demo"; return 1; }
}

# listed N: that many windows of each type
listed() {
	local type
	for type in 1 2; do
		is "$(awk -v t="$type" 'NF == 6 && $2 == t && $3 ~ /^0x/ { n++ } END { print n + 0 }' "$WORK/demo")" "$1" ||
			{ cat "$WORK/demo"; return 1; }
	done
}

# resource_says N: "rdma resource" showed that many bound windows of our region
resource_says() {
	LKEY=$(sed -n 's/^lkey \(0x[0-9a-f]*\)$/\1/p' "$WORK/demo")
	tr '\n' ' ' <"$WORK/resource" | sed 's/ dev /\n&/g' | grep -E " lkey ${LKEY:?} .* drv_windows $1 " ||
		{ cat "$WORK/resource"; return 1; }
}

refused_more() { is "$(refused)" $((BEFORE + $1)); }

trace_on() { mkdir "$TRACE" && on_exit rmdir "$TRACE" && echo 1 >"$TRACE/events/softmr/smr_dereg_busy/enable"; }

# traced N: the tracepoint recorded the refusal with N windows, and the program lists the first of them
traced() {
	local rkey
	rkey=$(sed -nE "s/.*smr_dereg_busy: dev=$DEV pid=[1-9][0-9]* lkey=$LKEY windows=$1 first_rkey=(0x[0-9a-f]+)\$/\1/p" "$TRACE/trace")
	[ -n "$rkey" ] && grep -q " $(printf '0x%08x' "$rkey") " "$WORK/demo" && return
	cat "$TRACE/trace" "$WORK/demo"
	return 1
}

# The kernel itself may have other objects on the device, but no regions
no_regions() { rdma resource show "$DEV" | grep -E ' mr 0( |$)' || { rdma resource show mr; return 1; }; }

# round LOOPBACK N: N windows of each type
round() {
	local where="loopback=$1, 2 x $2 windows"
	topology_host "$1" || { not_ok "$where: link"; return; }
	DEV=${SIDE_DEV[server]}
	BEFORE=$(refused)
	check "$where: refused, explained, unbound, deregistered" \
		demo "$2" "rdma -dd resource show mr >$WORK/resource" &&
		check "$where: all are listed" listed "$2" &&
		check "$where: rdma resource has the count" resource_says $((2 * $2)) &&
		check "$where: the tracepoint has it, too" traced $((2 * $2))
	check "$where: the counter has the refusal" refused_more 1
	check "$where: nothing is left" no_regions
	topology_down
}

check "the program" make_busy || finish
check "trace" trace_on || finish
round Y 2
round N 1
round Y 512
round Y 2000 # more than the kernel lists in one call

if have_link_type rxe; then
	ip link add other0 type dummy && on_exit ip link del other0
	address "" other0 1
	check "a link of another driver" link_add "$(node_name r)" other0 "" rxe
	check_error "it is no device of softmr" "not a softmr device" "$WORK/busy" "$(node_name r)" 0
else
	skip "a device of another driver" "this kernel has none"
fi
finish
