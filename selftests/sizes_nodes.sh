#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2
# timeout: 300
#
# perftest's programs with all sizes that they know, between two machines
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"

need_link_type "$LINK_TYPE"
link_add "rdma$NODE" eth0 || not_ok "link on node $NODE"
[ "$NODE" = 1 ] || agent_main

agent_find 2 || tap_done 1
side server rdma1 "" 10.0.0.1 fd00::1
side client rdma2 "" 10.0.0.2 fd00::2 "$AGENT"
PERFTEST_OPTIONS=("${PATIENT[@]}")
perftest_sizes "two nodes" v4 ib_{send,write,read}_bw
perftest_sizes "two nodes" v6 ib_{send,write,read}_lat
finish
