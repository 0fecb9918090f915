#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2
# timeout: 300
#
# ibv_rc_pingpong, perftest and the programs of rdmacm-utils between two machines
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"
# shellcheck source=selftests/lib/cm.sh
. "$LIB/cm.sh"

need_link_type "$LINK_TYPE"
modprobe rdma_ucm
# two nodes may share one kernel, with one set of names
link_add "rdma$NODE" eth0 || not_ok "link on node $NODE"
[ "$NODE" = 1 ] || agent_main

agent_find 2 || tap_done 1
side server rdma1 "" 10.0.0.1 fd00::1
side client rdma2 "" 10.0.0.2 fd00::2 "$AGENT"

for family in v4 v6; do
	for size in 0 1 1048576; do
		check "$family: $size bytes" pingpong server client "$family" -s "$size" -n 20 -c
		check "$family: $size bytes, node 2 is the server" pingpong client server "$family" -s "$size" -n 20 -c
	done
	check "$family: events" pingpong server client "$family" -e -n 100 -c
done
connections "two nodes"
PERFTEST_OPTIONS=("${PATIENT[@]}")
perftest_sizes "two nodes" v4 ib_write_bw ib_send_lat
perftest_all "two nodes" v4
perftest_some "two nodes" v6
finish
