#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 200
#
# ibv_ud_pingpong, ibv_uc_pingpong and perftest with UD and UC, on one host (same-host shortcut and wire path) and
# between two network namespaces
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"

need_link_type "$LINK_TYPE"

pingpongs() {
	local where=$1 family
	for family in v4 v6; do
		check "$where, $family: UD" pingpong_with ibv_ud_pingpong server client "$family" -s 1000 -n 50
		check "$where, $family: UC" pingpong_with ibv_uc_pingpong server client "$family" -s 20001 -n 50
	done
	check "$where: UD, events" pingpong_with ibv_ud_pingpong server client v4 -e -s 1 -n 50
	check "$where: UC, events" pingpong_with ibv_uc_pingpong server client v4 -e -s 1 -n 50
}

if try_same_host; then
	pingpongs "same host"
	perftest_unreliable "same host" v4
	topology_down
fi

if try_wire_path; then
	pingpongs "one host, wire path"
	topology_down
fi

if try_veth 1500; then
	pingpongs "veth"
	perftest_unreliable "veth" v4
	topology_down
fi
finish
