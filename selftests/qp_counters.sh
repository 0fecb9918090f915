#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 120
#
# rdma statistic qp: QPs that are bound to counters, by hand and automatically; the link's counters do not change by
# that. And what "rdma resource show" prints about queues
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "softmr's own counters"
need_link_type "$LINK_TYPE"
have ib_write_bw || skip_all "perftest is not installed"

# The link's count: of QPs with a counter and of those without
all() { counter "$DEV" "$1"; }

# qp_counter ID NAME: of one counter, by its id
qp_counter() {
	rdma statistic qp show link "$DEV/1" | tr '\n' ' ' | sed 's/link /\n&/g' |
		sed -nE "s/.* cntn $1 .* $2 ([0-9]+) .*/\1/p"
}
qp_counters() { rdma statistic qp show link "$DEV/1" | grep -c cntn; }
counts() { [ "$(qp_counter "$1" "$2")" -gt "${3:-0}" ]; }
bound_to() {
	rdma statistic qp show link "$DEV/1" | tr '\n' ' ' | sed 's/link /\n&/g' |
		grep -qiE " cntn $1 .* lqpn: <([0-9]+,)*$2[,>]"
}
no_counter() { is "$(qp_counters)" 0; }

# Numbers of the QPs of ib_write_bw: of the one that sends, and of the other, which never reaches RTS
qpns() {
	local state
	for state in RTS RTR; do
		rdma resource show qp link "$DEV/1" |
			sed -nE "s/.* lqpn ([0-9]+) .*type RC state $state .*comm ib_write_bw.*/\\1/p"
	done
}
two_qps() { [ "$(qpns | wc -l)" -ge 2 ]; }

start_traffic() { traffic server client ib_write_bw -s 4096 -D 600 && within 20 two_qps; }

stop_traffic() {
	stop client "$CLIENT"
	within 10 ended "$CLIENT"
	stop server "$SERVER" KILL
	within 10 ended "$SERVER"
}

# -- by type

auto() { rdma statistic qp set link "$DEV/1" auto "$@"; }

# Each message is counted once, also after its QP and its counter are gone
sum_is_right() {
	local all
	all=$(all local_ops)
	pingpong server client v4 -s 100 -n 200 -c || return
	is "$(all local_ops)" $((all + 400)) && no_counter
}

# The core looks for a counter of the type, and makes one if there is none: two processes that create QPs at the same
# time may get one each
one_for_the_type() {
	local n
	n=$(qp_counters)
	[ "$n" = 2 ] || is "$n" 1 || return
	within 10 counts_somewhere
}
counts_somewhere() { counts 1 local_ops || counts 2 local_ops; }

# -- by hand

bind_first() {
	mapfile -t QPNS < <(qpns)
	rdma statistic qp bind link "$DEV/1" lqpn "${QPNS[0]}" && within 5 bound_to 1 "${QPNS[0]}" && is "$(qp_counters)" 1
}

bind_second_to_it() { rdma statistic qp bind link "$DEV/1" lqpn "${QPNS[1]}" cntn 1 && bound_to 1 "${QPNS[1]}"; }

unbind() { rdma statistic qp unbind link "$DEV/1" cntn 1 lqpn "$1"; }

# The QPs work meanwhile, and the link's count does not decrease. sum_is_right() checks whether it is right
bind_and_unbind() {
	local i before after id
	for i in {1..20}; do
		before=$(all local_ops)
		rdma statistic qp bind link "$DEV/1" lqpn "${QPNS[0]}" || return
		id=$(rdma statistic qp show link "$DEV/1" | sed -nE 's/.* cntn ([0-9]+) .*/\1/p' | head -n 1)
		rdma statistic qp unbind link "$DEV/1" cntn "$id" lqpn "${QPNS[0]}" || return
		after=$(all local_ops)
		[ "$after" -ge "$before" ] || { echo "round $i: $before, then $after"; return 1; }
	done
	no_counter
}

# resource KIND PATTERN: a line of "rdma resource show KIND -dd" of our link
resource() {
	rdma resource show "$1" -dd | tr '\n' ' ' | sed 's/\(dev\|link\) /\n&/g' | grep -w "$DEV" | grep -E -- "$2"
}

topology_host Y || { not_ok "link"; finish; }
DEV=${SIDE_DEV[server]}
check "without counters: the link counts each message" sum_is_right
check "automatic counters by type" auto type on
check "the link still counts each message, once" sum_is_right
check "traffic" start_traffic
check "its QPs have one counter" one_for_the_type
stop_traffic
check "no automatic counters any more" auto off
check "none is left" no_counter
check_error "a QP that does not exist" 'No such file or directory' rdma statistic qp bind link "$DEV/1" lqpn 16777214
check "traffic without counters" start_traffic
check "one is bound to a new counter" bind_first
check "it counts" within 10 counts 1 local_ops
check_error "it cannot be bound twice" 'Cannot allocate memory|Invalid argument' rdma statistic qp bind link "$DEV/1" lqpn "${QPNS[0]}"
check "the second is bound to the same counter" bind_second_to_it
check "the first is unbound" unbind "${QPNS[0]}"
check "the second as well, and the counter ends" unbind "${QPNS[1]}"
check "no counter is left" no_counter
check "bound and unbound while it works" bind_and_unbind
check "a CQ: what nobody has polled" resource cq 'drv_pending [0-9]+ .*drv_overrun 0'
check "a QP: what waits in its queues" resource qp 'drv_sq_pending [0-9]+ .*drv_rq_pending [0-9]+'
stop_traffic
check "then the link still counts each message, once" sum_is_right
# The core calls the driver only since it has this function; its own listing of SRQs is older
if grep -qw fill_res_srq_raw_entry /proc/kallsyms; then
	in_ns "${SIDE_NS[server]}" ibv_srq_pingpong -d "$DEV" >/dev/null 2>&1 &
	check "an SRQ: what is left, and its limit" within 10 resource srq 'drv_pending [1-9][0-9]* .*drv_limit 0'
	pkill -P $!
	wait $!
else
	skip "an SRQ" "this kernel asks no driver (kernels.rst, B)"
fi
topology_down
finish
