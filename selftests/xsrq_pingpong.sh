#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 200
#
# ibv_srq_pingpong and ibv_xsrq_pingpong: several QPs on one shared receive queue, and the queues of an XRC domain
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

need_link_type "$LINK_TYPE"

# Both sides print the number of round trips
# shellcheck disable=SC2317 # check calls it
trips() {
	local out
	tool "$1" "$2" -g "$3" 60 "${@:4}" || return
	for out in "$CLIENT_OUT" "$SERVER_OUT"; do
		[[ $(<"$out") == *"iters in "* ]] || { tool_output; return 1; }
	done
}

# It prints its progress, and nothing at the end
# shellcheck disable=SC2317 # check calls it
xsrq() { tool "$1" "$2" -g "$3" 60 ibv_xsrq_pingpong "${@:4}"; }

runs() {
	local where=$1 family
	for family in v4 v6; do
		check "$where, $family: ibv_srq_pingpong" trips server client "$family" ibv_srq_pingpong -n 50 -q 4
		check "$where, $family: ibv_srq_pingpong, events" \
			trips server client "$family" ibv_srq_pingpong -n 50 -q 4 -e -s 20000
		check "$where, $family: ibv_xsrq_pingpong" xsrq server client "$family" -n 20
		check "$where, $family: ibv_xsrq_pingpong, events" xsrq server client "$family" -n 20 -e -s 20000
	done
}

if try_same_host; then
	runs "same host"
	topology_down
fi
if try_veth 9000; then
	runs "veth"
	topology_down
fi
finish
