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

# lockdep_off: while the test runs, as something in the kernel breaks lock order by itself (Documentation/testing.rst)
lockdep_off() {
	[ -e /proc/sys/kernel/prove_locking ] || return 0
	sysctl -q kernel.prove_locking=0 && on_exit sysctl -q kernel.prove_locking=1
}

# kernel_since RELEASE: is this kernel of that release, or newer?
kernel_since() { printf '%s\n' "$1" "$(uname -r)" | sort -CV; }

echo "TAP version 13"
