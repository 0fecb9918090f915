#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 1
# timeout: 240
#
# perftest's programs with all sizes that they know, 2 bytes to 8 MiB
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"
# shellcheck source=selftests/lib/perftest.sh
. "$LIB/perftest.sh"

need_link_type "$LINK_TYPE"

if try_same_host; then
	perftest_sizes "same host" v4 ib_{send,write,read}_{bw,lat}
	topology_down
fi
if try_veth 1500; then
	perftest_sizes "veth" v4 ib_{send,write,read}_lat
	perftest_sizes "veth" v6 ib_{send,write,read}_bw
	topology_down
fi
finish
