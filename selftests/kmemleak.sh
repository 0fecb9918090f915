#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# beds: uml-checked
# boot: kmemleak
#
# The last one of its boot: the module goes, and what the tests before this one have allocated was freed
# shellcheck disable=SC2317 # what "check" calls looks unreachable
# shellcheck source=selftests/lib/test.sh
. "$(dirname "$0")/lib/test.sh"

LEAKS=/sys/kernel/debug/kmemleak

module_goes() {
	local link
	for link in $(rdma link show 2>/dev/null | sed -n 's|^link \([^/]*\)/.*|\1|p'); do rdma link del "$link" 2>/dev/null; done
	modprobe -r softmr
}

# Two scans: memory that was freed just before the first one may still look leaked. A file there has no size until it is
# read
no_leak() {
	for _ in 1 2; do
		sleep 3
		echo scan >"$LEAKS" || return
	done
	! grep . "$LEAKS"
}

check "the module goes" module_goes
check "no memory is leaked" no_leak
finish
