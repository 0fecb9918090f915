# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What each shell test starts with.

LIB=${BASH_SOURCE[0]%/*}
# shellcheck source=selftests/lib/tap.sh
. "$LIB/tap.sh"
# shellcheck source=selftests/lib/net.sh
. "$LIB/net.sh"
# shellcheck source=selftests/lib/pair.sh
. "$LIB/pair.sh"
# shellcheck source=selftests/lib/nodes.sh
. "$LIB/nodes.sh"
# shellcheck source=selftests/lib/memory.sh
. "$LIB/memory.sh"
# shellcheck source=selftests/lib/topology.sh
. "$LIB/topology.sh"

# full_run: programs are to be tried in all combinations. On a kernel older than the one that most beds have, that of the
# QEMU bed alone, each program and option runs, but not with each other
full_run() {
	local release
	release=$(</proc/sys/kernel/osrelease)
	[ "${release%%.*}" -ge 7 ]
}

echo "TAP version 13"
