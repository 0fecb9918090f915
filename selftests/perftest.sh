#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 500
#
# perftest's programs on one host (same-host shortcut and wire path) and between two network namespaces: many
# QPs, both directions, on-demand paging
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"

need_link_type "$LINK_TYPE"

if try_same_host; then
	perftest_all "same host" v4
	perftest_some "same host" v6
	perftest_odp "same host" v4
	perftest_huge "same host" v4
	topology_down
fi

if try_wire_path; then
	perftest_some "one host, wire path" v4
	perftest_odp "one host, wire path" v4
	topology_down
fi

if try_veth 1500; then
	perftest_sizes "veth" v4 ib_{send,write,read}_bw
	perftest_all "veth" v4
	perftest_some "veth" v6
	perftest_odp "veth" v4
	topology_down
fi
finish
