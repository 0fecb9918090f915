#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 120
#
# What "rdma resource show" prints about queues; and the link counts each message once
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

[ "$LINK_TYPE" = softmr ] || skip_all "softmr's own counters"
need_link_type "$LINK_TYPE"
have ib_write_bw || skip_all "perftest is not installed"

# The other QP of ib_write_bw never reaches RTS
in_rts() { rdma resource show qp link "$DEV/1" | grep -q 'type RC state RTS .*comm ib_write_bw'; }

start_traffic() { traffic server client ib_write_bw -s 4096 -D 600 && within 20 in_rts; }

stop_traffic() {
	stop client "$CLIENT"
	within 10 ended "$CLIENT"
	stop server "$SERVER" KILL
	within 10 ended "$SERVER"
}

# Each message is counted once
sum_is_right() {
	local before
	before=$(counter "$DEV" local_ops)
	pingpong server client v4 -s 100 -n 200 -c && is "$(counter "$DEV" local_ops)" $((before + 400))
}

# resource KIND PATTERN: a line of "rdma resource show KIND -dd" of our link
resource() {
	rdma resource show "$1" -dd | tr '\n' ' ' | sed 's/\(dev\|link\) /\n&/g' | grep -w "$DEV" | grep -E -- "$2"
}

topology_host Y || { not_ok "link"; finish; }
DEV=${SIDE_DEV[server]}
check "the link counts each message, once" sum_is_right
check "traffic" start_traffic
check "a CQ: what nobody has polled" resource cq 'drv_pending [0-9]+ .*drv_overrun 0'
check "a QP: what waits in its queues" resource qp 'drv_sq_pending [0-9]+ .*drv_rq_pending [0-9]+'
stop_traffic
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
